//! The hooks: the only symbols of the runtime that programs see. Defined from the one list in `unseen_abi::hooks`.
//!
//! Each may be called before `main`, from signal handlers, from several threads at once and after `fork`.

use crate::{access, cover, modules, run};
use unseen_abi::access::AccessRecord;
use unseen_abi::module::ModuleRecord;

macro_rules! rust_type {
    (void) => { () };
    (ptr) => { *const ModuleRecord };
    (access) => { *const AccessRecord };
    (any) => { usize };
    (i64) => { u64 };
    (i32) => { i32 };
}

macro_rules! define {
    ($($(#[$doc:meta])* $constant:ident $name:ident $symbol:literal
        ($($param:ident: $ty:tt),*) -> $result:tt;)*) => {
        $($(#[$doc])*
        #[unsafe(export_name = $symbol)]
        extern "C" fn $name($($param: rust_type!($ty)),*) -> rust_type!($result) {
            answer::$name($($param),*)
        })*
    };
}
unseen_abi::for_each_hook!(define);

/// What each hook does, by its name in the list.
mod answer {
    use super::*;

    pub fn enter(record: *const ModuleRecord) {
        // SAFETY: null, or the constant that the pass emitted, which stays until the module leaves.
        let record = unsafe { record.as_ref() };
        let Some(record) = record.filter(|record| record.size as usize >= size_of::<ModuleRecord>()) else { return };
        let run = run::current();
        // SAFETY: as above.
        if let (Some(run), Some(access)) = (run, unsafe { record.access.as_ref() }) {
            access::enter_module(run, access);
        }
        let recorded = run.is_some_and(|run| cover::enter(run, record));
        if !recorded {
            cover::silence(record);
        }
    }

    pub fn leave(record: *const ModuleRecord) {
        if run::decided().is_some() {
            // SAFETY: as in `enter`.
            if let Some(access) = unsafe { record.as_ref().and_then(|record| record.access.as_ref()) } {
                access::leave_module(access);
            }
            modules::leave(record);
        }
    }

    pub fn active() -> i32 {
        i32::from(modules::any_recording())
    }

    pub fn cover_reset() {
        cover::reset();
    }

    pub fn access_enter(module: *const AccessRecord, unit: i32, arguments: usize, count: i32, frame: usize) {
        access::enter(module, unit as u32, arguments as *const u64, count as u32, frame);
    }

    pub fn access_leave(frame: usize) {
        access::leave(frame);
    }

    pub fn access_read(address: usize, size: u64, site: i32) {
        access::read(address, size as usize, site as u32);
    }

    pub fn access_text(address: usize, site: i32) {
        access::read_text(address, site as u32);
    }

    pub fn access_write(address: usize, size: u64) {
        access::write(address, size as usize);
    }

    pub fn access_new(address: usize, size: u64) {
        access::allocated(address, size as usize);
    }

    pub fn access_free(address: usize) {
        access::freed(address);
    }
}
