//! The record by which an instrumented module introduces itself to the runtime.

use crate::mechanism::Mechanisms;

/// Alignment and granule of the counters: they fill whole pages of their own, so that a file can be mapped
/// over them. A port to a target with larger pages changes this constant.
pub const COUNTER_PAGE: usize = 4096;

/// Emitted by the pass as a constant, one per module, passed to the hooks `ENTER` and `LEAVE`.
#[repr(C)]
#[derive(Debug)]
pub struct ModuleRecord {
    /// Size of this record, so that later versions can append fields.
    pub size: u32,
    /// What is instrumented in this module.
    pub mechanisms: Mechanisms,
    /// Name of the manifest that belongs to this module (a hash of its content).
    pub id: [u8; 16],
    /// First coverage counter, aligned to [`COUNTER_PAGE`]; null without `cover`.
    pub counters: *mut u8,
    /// How many counters there are. The memory behind them is padded to whole [`COUNTER_PAGE`]s.
    pub counter_count: u64,
    /// The module's epoch, 1 when it is loaded. 0: nothing is recorded, and functions entered from now on run without probes. Else a
    /// loop may leave its probes out once all its counters were found set in this epoch: whoever clears counters then begins
    /// another one.
    pub epoch: *mut u32,
}

const _: () = assert!(core::mem::size_of::<ModuleRecord>() == 48);
const _: () = assert!(core::mem::offset_of!(ModuleRecord, epoch) == 40);
const _: () = assert!(core::mem::offset_of!(ModuleRecord, id) == 8);
const _: () = assert!(core::mem::offset_of!(ModuleRecord, counters) == 24);
const _: () = assert!(core::mem::offset_of!(ModuleRecord, counter_count) == 32);
