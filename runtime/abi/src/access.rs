//! What the mechanism `access` needs inside the program: the dependency sets of its functions, and where each watched instruction
//! comes from.
//!
//! The pass writes an [`AccessRecord`] into the module (loaded) and [`Sites`] into the section [`crate::sections::SITES`] (not
//! loaded). The runtime reads the former through [`Table`]; the driver reads the latter, and the files of [`Header`] and
//! [`Tally`] that the runtime leaves.

use crate::sets::Table;

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
    pub sets: Table,
    /// Hooks are called only while this is not 0 (then -1), except [`crate::hooks::ACCESS_ENTER`] and those that tell of
    /// allocations.
    pub gate: *mut i32,
    /// For each unit: so many calls are still to come before one is told of whatever the gate says. Each call takes one away;
    /// below 0 it is told.
    pub countdown: *mut i32,
}

const _: () = assert!(core::mem::size_of::<AccessRecord>() == 80);
const _: () = assert!(core::mem::offset_of!(AccessRecord, countdown) == 72);
const _: () = assert!(core::mem::offset_of!(AccessRecord, sets) == 24);

/// As the size of what is new: a text.
pub const TEXT: u64 = u64::MAX;
/// As the size of what is new: something of a library's that never changes, wherever it lies.
pub const FIXED: u64 = u64::MAX - 1;

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
pub use encoding::{Site, Sites};
