//! Defines hooks from the lists in `unseen_abi::hooks`: for each an exported function that calls the one of the same name in the
//! module `answer` beside it.

macro_rules! define_hooks {
    ($($(#[$doc:meta])* $constant:ident $name:ident $symbol:literal
        ($($param:ident: $ty:tt),*) -> $result:tt;)*) => {
        $($(#[$doc])*
        #[unsafe(export_name = $symbol)]
        extern "C" fn $name($($param: $crate::define::hook_type!($ty)),*) -> $crate::define::hook_type!($result) {
            answer::$name($($param),*)
        })*
    };
}
pub(crate) use define_hooks;

macro_rules! hook_type {
    (void) => { () };
    (ptr) => { *const unseen_abi::module::ModuleRecord };
    (state) => { *const unseen_abi::state::StateRecord };
    (access) => { *const unseen_abi::access::AccessRecord };
    (any) => { usize };
    (i64) => { u64 };
    (i32) => { i32 };
}
pub(crate) use hook_type;
