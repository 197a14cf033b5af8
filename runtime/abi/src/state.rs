//! What the mechanism `state` needs inside the program: which functions have tests, and what state they are called in.
//!
//! A program attaches a test to a unit by a [`Descriptor`] in the section [`TESTS`] (`unseen.h`, crate `unseen`). The pass reads and
//! removes these, and writes a [`StateRecord`] into the module (loaded) and [`Attachments`] into the section
//! [`crate::sections::UNITS`] (not loaded). The runtime reads the former; the driver reads the latter, and the files ([`FILE`]) that
//! the runtime leaves.

use crate::sets::Table;
use crate::tallies::Form;

/// The section in which programs put descriptors.
pub const TESTS: &str = "unseen_tests";

/// Attaches something to a unit. Written by `unseen.h` and the crate `unseen`, read by the pass.
#[repr(C)]
#[derive(Debug)]
pub struct Descriptor {
    /// The unit; or null, and then it has a name.
    pub unit: *const (),
    /// The linker's name of the unit, or its name in the source, NUL-terminated; or null.
    pub name: *const u8,
    /// The function that is attached; null if its kind needs none.
    pub test: *const (),
    /// A [`Kind`].
    pub kind: u64,
}

const _: () = assert!(core::mem::size_of::<Descriptor>() == 32);

/// What is attached to a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Kind {
    /// A test that runs before the unit: it takes what the unit takes, and gives a truth value, or nothing.
    #[default]
    Before = 0,
    /// A test that runs after the unit: it also takes what the unit returned, behind the rest.
    After = 1,
    /// No function: the unit is called twice from the same state, and has to do the same.
    Determinism = 2,
    /// No test: a function that is called in the program itself, before the unit, in a state that is not among those that were seen,
    /// if the program is only watched. It takes what the unit takes.
    Rescue = 3,
    /// Neither a test nor a function: the unit's states are collected, and watched (`UNSEEN_WATCH`).
    Watch = 4,
}

impl Kind {
    pub const ALL: [Kind; 5] = [Kind::Before, Kind::After, Kind::Determinism, Kind::Rescue, Kind::Watch];

    /// The kind with that number.
    pub fn from_number(number: u64) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| *kind as u64 == number)
    }
}

// SAFETY: constants.
unsafe impl Sync for Descriptor {}

/// The part of a module record that belongs to `state`.
#[repr(C)]
#[derive(Debug)]
pub struct StateRecord {
    /// Size of this record, so that later versions can append fields.
    pub size: u32,
    /// How many units with tests there are.
    pub units: u32,
    /// The id of the manifest that they belong to.
    pub id: [u8; 16],
    /// For each unit two sets: with the number `2 * unit` what it and its tests read, with `2 * unit + 1` what they may write.
    pub sets: Table,
    /// The units.
    pub list: *const Unit,
    /// For each unit a byte: it asks only while that is not 0. Side by side, since all that units do mostly is to look at them.
    pub gates: *mut u8,
    /// As many desks as units.
    pub desks: *mut Desk,
    /// For each test a byte, its [`Kind`].
    pub kinds: *const u8,
    /// The units' names in the source, each with a NUL behind it.
    pub names: *const u8,
    pub names_length: u64,
    /// For 0: where the thread that calls it counts the calls of each unit that did not have to ask.
    pub hits: Option<extern "C" fn(u32) -> usize>,
}

const _: () = assert!(core::mem::size_of::<StateRecord>() == 120);
const _: () = assert!(core::mem::offset_of!(StateRecord, list) == 64);

/// Where a unit's code looks before it calls the runtime. The runtime writes, the code that the pass put into the unit reads.
///
/// A unit whose state is 9 to 16 bytes has a cache here of states that all its tests have seen, one in each place, which
/// [`place_of`] tells: a number, which is odd while it is written, and the state. States of up to 8 bytes, and traces, are where all units
/// of the module have them ([`TRACE_PLACES`]); their own code writes these.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Desk {
    /// Whether the unit's gate is ever open. For the runtime alone.
    pub is_used: i32,
    pub reserved: [i32; 15],
    pub cache: [u64; WIDE_PLACES * WIDE_WORDS],
}

pub const WIDE_PLACES: usize = 16;
pub const WIDE_WORDS: usize = 4;

const _: () = assert!(core::mem::size_of::<Desk>() == 576 && core::mem::offset_of!(Desk, cache) == 64);

/// An odd number without a pattern.
pub const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// In which place of its cache a state is, among so many (a power of two).
pub const fn place_of(state: u64, places: usize) -> usize {
    (state.wrapping_mul(SPREAD) >> (64 - places.trailing_zeros())) as usize
}

/// One word of a state of two.
pub const fn folded(low: u64, high: u64) -> u64 {
    low ^ high.rotate_left(32)
}

/// What a thread counts of calls whose state was found in the cache is told with the next call of the runtime, at the latest after so
/// many: a power of two.
pub const HITS: u32 = 1024;

/// What the hook for a call gives in the program: a function is to be called that rescues the unit;
pub const RESCUE: i32 = -1;
/// tests are due when the unit returns. Any other number but 0 is given in a copy of the process: which test is to be run, from 1.
pub const AFTER: i32 = 1 << 30;

/// all tests have seen the state, which was told by a trace, or is one word: nothing is to be done, and the unit's code is to remember it.
pub const SEEN: i32 = -2;

/// Words of room that a unit with tests of the kind [`Kind::After`] has for what is due.
pub const DUE_WORDS: usize = 4;

/// A unit with tests.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Unit {
    /// Bits of the parameters whose values belong to the state.
    pub params: u64,
    /// Bits of those among them that are pointers: what they point to counts, not where it lies.
    pub pointers: u64,
    /// The number of its first test, among all of the module.
    pub first: u32,
    /// How many tests it has.
    pub tests: u32,
    /// [`OPAQUE`], [`TRACED`] or 0.
    pub flags: u32,
    /// How many bytes the state has, if it is these bytes and nothing else, and at most 16; else 0. Then the hook for a call gets the state
    /// in place of the arguments: one word, or two if these are more than 8 bytes.
    pub exact: u32,
}

const _: () = assert!(core::mem::size_of::<Unit>() == 32);

/// Flag of a unit: the state does not decide what its tests find. They always run.
pub const OPAQUE: u32 = 1;
/// Flag of a unit: its code tells what the call is about to read, its *trace*: two words behind the arguments, the second 0 if it could
/// not. It remembers those that all tests have seen, and does not ask if it knows the trace.
pub const TRACED: u32 = 2;

/// How many traces, and states of up to 8 bytes, the units of a module have room for together, two words each: a power of two.
pub const TRACE_PLACES: usize = 1 << 16;

/// The file that a process leaves for a module: for each test the words of [`Tally`].
pub const FILE: Form = Form { extension: "state", magic: *b"UNSEENSA", version: 3, words: 22 };

/// What was counted for one test: the words of [`FILE`], in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Tally {
    /// Calls of the unit while tests were on.
    Calls = 0,
    /// Calls in states that no test had seen.
    Unseen = 1,
    /// Calls whose state could not be told, or does not decide: each counts as unseen.
    Untold = 2,
    /// Tests that passed.
    Passed = 3,
    /// Tests that failed.
    Failed = 4,
    /// Tests that crashed.
    Crashed = 5,
    /// Tests that took too long.
    Late = 6,
    /// Tests that could not be run to their end for reasons that are not theirs.
    Hindered = 7,
    /// Tests that were due but not run, because too many were under way, or because the copy could not be made.
    Skipped = 8,
    /// How long callers stood still for tests, in ns.
    Stall = 9,
    /// How long tests took, from the split to their end, in ns.
    Wall = 10,
    /// CPU time of tests, in ns.
    Cpu = 11,
    /// Tests that were started. Those that are not over yet are under way, or died with the machine.
    Started = 12,
    /// Checks whether a state was seen that were timed, and what they took together, in ns: the paper's t_d is the quotient.
    Checks = 13,
    Check = 14,
    /// How often a state was put into the seen set, and what that took together, in ns: t_u.
    Notes = 15,
    Note = 16,
    /// Tests that were due but not run, to keep to the budget or because only some calls are looked at.
    Spared = 17,
    /// Calls in states outside the seen set, while the program is only watched.
    Strange = 18,
    /// Those of them that were handed to a handler.
    Rescued = 19,
    /// What all of it has cost, in ns: checks, callers that stood still, and the CPU time of tests and of their supervisors.
    Spent = 20,
    /// In the module's first test: the CPU time of the program, in ns, as far as it is known.
    Process = 21,
}

impl Tally {
    /// How a test can be over.
    pub const OVER: [Tally; 5] = [Tally::Passed, Tally::Failed, Tally::Crashed, Tally::Late, Tally::Hindered];
}

impl From<Tally> for usize {
    fn from(tally: Tally) -> usize {
        tally as usize
    }
}

#[cfg(any(feature = "std", test))]
mod encoding;
#[cfg(any(feature = "std", test))]
pub use encoding::{Attached, Attachments, Test};
