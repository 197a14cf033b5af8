//! The hooks of programs with tests.

use super::{calls, compare};
use crate::define::define_hooks;
use crate::{arch, run, sandbox};
use unseen_abi::state::StateRecord;

unseen_abi::for_each_state_hook!(define_hooks);

/// What each hook does, by its name in the list.
mod answer {
    use super::*;

    pub fn enter_module(record: *const StateRecord) {
        // SAFETY: null, or the constant that the pass emitted, which stays until the module leaves.
        if let (Some(run), Some(record)) = (run::current(), unsafe { record.as_ref() }) {
            super::super::enter_module(run, record);
        }
    }

    pub fn leave_module(record: *const StateRecord) {
        super::super::leave_module(record);
    }

    #[inline(always)]
    pub fn call(record: *const StateRecord, unit: i32, words: usize, count: i32, hits: usize) -> i32 {
        // SAFETY: as above; the code that calls is the module's own.
        let Some(record) = (unsafe { record.as_ref() }) else { return 0 };
        calls::call(record, unit as u32, words as *mut u64, count as usize, hits as *mut u32, arch::caller())
    }

    #[inline(always)]
    pub fn after(record: *const StateRecord, unit: i32, words: usize) -> i32 {
        // SAFETY: as above.
        let Some(record) = (unsafe { record.as_ref() }) else { return 0 };
        calls::after(record, unit as u32, words as *const u64, arch::caller())
    }

    pub fn compare(record: *const StateRecord, unit: i32, words: usize, count: i32) {
        // SAFETY: as above.
        let Some(record) = (unsafe { record.as_ref() }) else { return };
        // SAFETY: so many words lie there, on the caller's stack; the module is there.
        unsafe {
            let arguments = core::slice::from_raw_parts(words as *const u64, count as usize);
            compare::begin(record, unit as u32, arguments);
        }
    }

    pub fn compared(result: usize, size: u64) {
        if sandbox::is_test() {
            compare::end(result, size as usize);
        }
    }

    pub fn verdict(verdict: i32) {
        if sandbox::is_test() {
            sandbox::leave(verdict != 0);
        }
    }
}
