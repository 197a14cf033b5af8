//! The hooks of `access`, from the one list in `unseen_abi::hooks`.
//!
//! Each may be called before `main`, from signal handlers, from several threads at once and after `fork`.

use crate::define::define_hooks;
use crate::run;
use unseen_abi::access::AccessRecord;

unseen_abi::for_each_access_hook!(define_hooks);

/// What each hook does, by its name in the list.
mod answer {
    use super::*;
    use crate::access::{self, watch};
    use crate::arch;

    pub fn enter_module(record: *const AccessRecord) {
        // SAFETY: null, or the constant that the pass emitted, which stays until the module leaves.
        if let (Some(run), Some(record)) = (run::current(), unsafe { record.as_ref() }) {
            access::enter_module(run, record);
        }
    }

    pub fn leave_module(record: *const AccessRecord) {
        // SAFETY: as in `enter_module`.
        if let (Some(_), Some(record)) = (run::decided(), unsafe { record.as_ref() }) {
            access::leave_module(record);
        }
    }

    pub fn enter(record: *const AccessRecord, unit: i32, arguments: usize, count: i32, frame: usize) {
        watch::enter(record, unit as u32, arguments as *const u64, count as u32, frame);
    }

    pub fn leave(frame: usize) {
        watch::leave(frame);
    }

    #[inline(always)]
    pub fn read(address: usize, size: u64, site: i32) {
        watch::read(address, size as usize, site as u32, arch::callers_frame());
    }

    #[inline(always)]
    pub fn text(address: usize, site: i32) {
        watch::read_text(address, site as u32, arch::callers_frame());
    }

    #[inline(always)]
    pub fn write(address: usize, size: u64) {
        watch::write(address, size as usize, arch::callers_frame());
    }

    pub fn new(address: usize, size: u64) {
        watch::allocated(address, size as usize);
    }

    pub fn free(address: usize) {
        watch::freed(address);
    }
}
