//! What the mechanism `access` needs inside the program: the dependency sets of its functions, and where each watched instruction
//! comes from.
//!
//! The pass writes an [`AccessRecord`] into the module (loaded) and [`Sites`] into the section [`crate::sections::SITES`] (not
//! loaded). The runtime reads the former through [`Table`]; the driver reads the latter, and the files
//! ([`FILE`]) that the runtime leaves.

use crate::sets::Table;
use crate::tallies::Form;

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
/// Beside the size of what is new: it is not, but may be larger than whoever asked for it said.
pub const MEASURED: u64 = 1 << 62;

/// The file that a process leaves for a module; what its words are says [`Tally`].
pub const FILE: Form = Form { extension: "access", magic: *b"UNSEENAC", version: 2, words: 7 };

/// What was counted for one unit: the words of [`FILE`], in this order.
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

impl From<Tally> for usize {
    fn from(tally: Tally) -> usize {
        tally as usize
    }
}

#[cfg(any(feature = "std", test))]
mod encoding;
#[cfg(any(feature = "std", test))]
pub use encoding::{Site, Sites};
