//! What the mechanism `access` needs inside the program: the dependency sets of its functions in a form that the runtime can walk
//! without decoding, and where each watched instruction comes from.
//!
//! The pass writes an [`AccessRecord`] into the module (loaded) and [`Sites`] into the section [`crate::sections::SITES`] (not
//! loaded). The runtime reads the former through [`Sets`]; the driver reads the latter, and the files of [`Header`] and
//! [`Tally`] that the runtime leaves.

pub use crate::place::{Extent, Offset, Place};

/// The part of a module record that belongs to `access`.
#[repr(C)]
#[derive(Debug)]
pub struct AccessRecord {
    /// Size of this record, so that later versions can append fields.
    pub size: u32,
    /// How many units there are: the functions of [`crate::deps::Deps`].
    pub units: u32,
    /// The id of the manifest that they belong to.
    pub id: [u8; 16],
    /// The sets, as [`Sets`] reads them.
    pub words: *const u64,
    pub word_count: u64,
    /// All variables of the module that every thread shares.
    pub variables: *const Variable,
    pub variable_count: u64,
    /// Where a thread's own variable lies in this thread, by number; null if there is none.
    pub resolve: Option<extern "C" fn(u32) -> usize>,
    /// Hooks are called only while this is not 0 (then -1), except [`crate::hooks::ACCESS_ENTER`] and those that tell of
    /// allocations.
    pub gate: *mut i32,
    /// For each unit: so many calls are still to come before one is told of whatever the gate says. Each call takes one away;
    /// below 0 it is told.
    pub countdown: *mut i32,
}

const _: () = assert!(core::mem::size_of::<AccessRecord>() == 80);
const _: () = assert!(core::mem::offset_of!(AccessRecord, countdown) == 72);
const _: () = assert!(core::mem::offset_of!(AccessRecord, resolve) == 56);

/// A variable of the module.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    pub address: usize,
    /// In bytes; [`CONSTANT`] is set where it never changes.
    pub size: u64,
}

/// Flag in [`Variable::size`].
pub const CONSTANT: u64 = 1 << 63;

/// As the size of what is new: a text.
pub const TEXT: u64 = u64::MAX;
/// As the size of what is new: something of a library's that never changes, wherever it lies.
pub const FIXED: u64 = u64::MAX - 1;

/// Flag in a unit's second word: its set may miss reads, so that there is nothing to check.
pub const HIDES: u64 = 1 << 32;
/// In the second word of a unit: its set may miss what a call reads that does not return.
pub const HIDES_AT_END: u64 = 1 << 33;
/// A global that lies elsewhere: its address is not known.
pub const NOWHERE: u64 = u64::MAX;
/// Flag in a global's first word: the number is that of a thread's own variable, for `resolve`.
pub const THREAD_LOCAL: u64 = 1 << 32;

const HEAD: usize = 4;
const GLOBAL: usize = 2;
const PATH: usize = 3;
const UNIT: usize = 2;
const ITEM: usize = 7;
const OFFSET: usize = 2;

/// A pointer at entry; as [`crate::deps::Path`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Path {
    Param(u32),
    Global(u32),
    Variadic,
    Deref {
        from: u32,
        at: Offset,
    },
    /// `at` are the offsets with these numbers; see [`Sets::offset`].
    Closure {
        from: u32,
        first: u32,
        count: u32,
    },
    Reach {
        from: u32,
    },
}

/// A unit's set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unit {
    /// How many places it has.
    pub places: u32,
    /// It may miss some.
    pub hides: bool,
    /// It may miss what a call reads that does not return.
    pub hides_at_end: bool,
}

/// Where a global lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lies {
    /// One of [`AccessRecord::variables`].
    Here(u32),
    /// A thread's own, by number.
    Thread(u32),
    /// Not in this module.
    Elsewhere,
}

/// The sets of a module, read in place. What is out of range is not there.
#[derive(Clone, Copy)]
pub struct Sets<'a>(pub &'a [u64]);

impl Sets<'_> {
    fn word(&self, at: usize) -> Option<u64> {
        self.0.get(at).copied()
    }

    fn counts(&self) -> Option<[usize; HEAD]> {
        Some([self.word(0)? as usize, self.word(1)? as usize, self.word(2)? as usize, self.word(3)? as usize])
    }

    /// Where a global lies, and its size.
    pub fn global(&self, number: u32) -> Option<(Lies, u64)> {
        let [globals, ..] = self.counts()?;
        let number = number as usize;
        if number >= globals {
            return None;
        }
        let at = HEAD + number * GLOBAL;
        let lies = match self.word(at)? {
            NOWHERE => Lies::Elsewhere,
            n if n & THREAD_LOCAL != 0 => Lies::Thread(n as u32),
            n => Lies::Here(n as u32),
        };
        Some((lies, self.word(at + 1)?))
    }

    /// A path.
    pub fn path(&self, number: u32) -> Option<Path> {
        let [globals, paths, ..] = self.counts()?;
        let number = number as usize;
        if number >= paths {
            return None;
        }
        let at = HEAD + globals * GLOBAL + number * PATH;
        let (head, a, b) = (self.word(at)?, self.word(at + 1)?, self.word(at + 2)?);
        let from = (head >> 32) as u32;
        // A path refers to earlier ones only: walking it ends.
        if head as u32 > 2 && from as usize >= number {
            return None;
        }
        Some(match head as u32 {
            0 => Path::Param(a as u32),
            1 => Path::Global(a as u32),
            2 => Path::Variadic,
            3 => Path::Deref { from, at: offset(a, b) },
            4 => Path::Closure { from, first: a as u32, count: b as u32 },
            5 => Path::Reach { from },
            _ => return None,
        })
    }

    /// An offset of a closure.
    pub fn offset(&self, number: u32) -> Option<Offset> {
        let [globals, paths, units, offsets] = self.counts()?;
        let number = number as usize;
        if number >= offsets {
            return None;
        }
        let at = HEAD + globals * GLOBAL + paths * PATH + units * UNIT + number * OFFSET;
        Some(offset(self.word(at)?, self.word(at + 1)?))
    }

    /// What is known of a unit's set.
    pub fn unit(&self, number: u32) -> Option<Unit> {
        let [globals, paths, units, _] = self.counts()?;
        let number = number as usize;
        if number >= units {
            return None;
        }
        let second = self.word(HEAD + globals * GLOBAL + paths * PATH + number * UNIT + 1)?;
        Some(Unit { places: second as u32, hides: second & HIDES != 0, hides_at_end: second & HIDES_AT_END != 0 })
    }

    /// The n-th place of a unit's set.
    pub fn place(&self, unit: u32, n: u32) -> Option<Place> {
        let [globals, paths, units, offsets] = self.counts()?;
        let index = HEAD + globals * GLOBAL + paths * PATH;
        let first = self.word(index + unit as usize * UNIT)? as usize;
        let at = index + units * UNIT + offsets * OFFSET + (first + n as usize) * ITEM;
        let word = |i: usize| self.word(at + i);
        let (a, b, c) = (word(4)?, word(5)?, word(6)?);
        let tag = word(3)?;
        let extent = match tag as u32 {
            0 => Extent::Bytes(a),
            1 => Extent::Text,
            2 => Extent::Rest,
            3 => Extent::Object,
            4 => Extent::ByParam { param: a as u32, scale: b },
            5 => Extent::ByMemory { path: (tag >> 32) as u32, at: a as i64, size: b, scale: c },
            _ => return None,
        };
        Some(Place { path: word(0)? as u32, offset: offset(word(1)?, word(2)?), extent })
    }
}

fn offset(stride: u64, at: u64) -> Offset {
    if stride == 0 { Offset::At(at as i64) } else { Offset::Every { stride, at } }
}

/// File name extension of what a process leaves.
pub const EXTENSION: &str = "access";
/// First bytes of such a file.
pub const MAGIC: [u8; 8] = *b"UNSEENAC";
/// Version of its layout.
pub const VERSION: u32 = 2;
/// Where the tallies begin.
pub const TALLIES: usize = 4096;

/// The first page of the file. All numbers little-endian.
#[repr(C)]
#[derive(Clone)]
pub struct Header {
    /// [`MAGIC`], written last.
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: u32,
    /// The process that made it; its children go on with it.
    pub pid: u32,
    /// The module.
    pub id: [u8; 16],
    /// How many tallies follow.
    pub units: u32,
    /// How many bytes of `path` are used.
    pub path_len: u32,
    /// The file the module was loaded from.
    pub path: [u8; TALLIES - 40],
}

const _: () = assert!(core::mem::size_of::<Header>() == TALLIES);

/// What was counted for one unit: little-endian words in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Tally {
    /// Calls.
    Calls = 0,
    /// Calls that were checked, up to their end.
    Checked = 1,
    /// Calls that were to be checked, but whose set was too large to walk, or refers to what can't be walked.
    Unwalked = 2,
    /// Bytes in the sets of the checked calls.
    Set = 3,
    /// Bytes of those sets that the calls read before they wrote them.
    Read = 4,
    /// Bytes that were read before they were written and were not in the set.
    Missed = 5,
    /// Calls that were checked, but not to their end.
    Partly = 6,
}

/// Words per unit.
pub const TALLY_WORDS: usize = 7;

/// Size of the file for so many units.
pub const fn file_size(units: u32) -> u64 {
    TALLIES as u64 + (units as u64 * TALLY_WORDS as u64 * 8).next_multiple_of(4096)
}

#[cfg(any(feature = "std", test))]
mod encoding;
#[cfg(any(feature = "std", test))]
pub use encoding::{Site, Sites, words};
