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

/// Attaches a test to a unit. Written by `unseen.h` and the crate `unseen`, read by the pass.
#[repr(C)]
#[derive(Debug)]
pub struct Descriptor {
    /// The unit; or null, and then it has a name.
    pub unit: *const (),
    /// The linker's name of the unit, or its name in the source, NUL-terminated; or null.
    pub name: *const u8,
    /// The test: it takes what the unit takes, and gives a truth value, or nothing.
    pub test: *const (),
}

const _: () = assert!(core::mem::size_of::<Descriptor>() == 24);

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
    /// Units ask only while this is not 0.
    pub gate: *mut i32,
}

const _: () = assert!(core::mem::size_of::<StateRecord>() == 80);
const _: () = assert!(core::mem::offset_of!(StateRecord, list) == 64);

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
    /// [`OPAQUE`] or 0.
    pub flags: u32,
    /// How many bytes the state has, if it is these bytes and nothing else, and at most 16; else 0. Parameters come first, each as many
    /// bytes as the IR's type has, then the places.
    pub exact: u32,
    /// For exact states: four bits for each of the first 16 parameters, their size in bytes.
    pub sizes: u64,
}

const _: () = assert!(core::mem::size_of::<Unit>() == 40);

/// Flag of a unit: the state does not decide what its tests find. They always run.
pub const OPAQUE: u32 = 1;

/// The file that a process leaves for a module: for each test the words of [`Tally`].
pub const FILE: Form = Form { extension: "state", magic: *b"UNSEENSA", version: 2, words: 20 };

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
