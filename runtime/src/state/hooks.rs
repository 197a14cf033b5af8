//! The hooks of programs with tests.

use crate::define::define_hooks;
use crate::{run, sandbox};
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

    pub fn call(record: *const StateRecord, unit: i32, arguments: usize, count: i32) -> i32 {
        // SAFETY: as above; the code that calls is the module's own.
        let Some(record) = (unsafe { record.as_ref() }) else { return 0 };
        // SAFETY: so many words lie there, on the caller's stack.
        let arguments = unsafe { core::slice::from_raw_parts(arguments as *const u64, count as usize) };
        super::super::call(record, unit as u32, arguments) as i32
    }

    pub fn verdict(verdict: i32) {
        if sandbox::is_test() {
            sandbox::leave(verdict != 0);
        }
    }
}
