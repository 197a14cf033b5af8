//! The hooks: the only symbols of the runtime that programs see. Defined from the one list in `unseen_abi::hooks`.
//!
//! Each may be called before `main`, from signal handlers, from several threads at once and after `fork`.

use crate::define::define_hooks;
use crate::{cover, modules, run};
use unseen_abi::module::ModuleRecord;

unseen_abi::for_each_hook!(define_hooks);

/// What each hook does, by its name in the list.
mod answer {
    use super::*;

    pub fn enter(record: *const ModuleRecord) {
        // SAFETY: null, or the constant that the pass emitted, which stays until the module leaves.
        let record = unsafe { record.as_ref() };
        let Some(record) = record.filter(|record| record.size as usize >= size_of::<ModuleRecord>()) else { return };
        let recorded = run::current().is_some_and(|run| cover::enter(run, record));
        if !recorded {
            cover::silence(record);
        }
    }

    pub fn leave(record: *const ModuleRecord) {
        if run::decided().is_some() {
            modules::leave(record);
        }
    }

    pub fn active() -> i32 {
        i32::from(modules::any_recording())
    }

    pub fn cover_reset() {
        cover::reset();
    }
}
