//! The one list of hooks: what instrumented code and `unseen.h` call, what the runtime defines.
//!
//! The pass declares hooks from [`Hook`] values, the runtime defines its functions by expanding
//! [`for_each_hook!`](crate::for_each_hook): a hook can't exist on one side only.

/// Calls `$visit!` with the whole list. Each entry: docs, constant, function name, symbol, parameters, result.
/// Types are `ptr` (`*const ModuleRecord`), `i32`; results also `void`.
#[macro_export]
macro_rules! for_each_hook {
    ($visit:path) => {
        $visit! {
            /// Called by each instrumented module's constructor with its module record.
            ENTER enter "__unseen_abi_v1" (module: ptr) -> void;
            /// Called by each instrumented module's destructor (exit, `dlclose`) with its module record.
            LEAVE leave "__unseen_leave_v1" (module: ptr) -> void;
            /// Whether this process records: 1 or 0.
            ACTIVE active "__unseen_active" () -> i32;
            /// Forgets the coverage of this process so far.
            COVER_RESET cover_reset "__unseen_cover_reset" () -> void;
        }
    };
}

/// Type of a hook's parameter or result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HookType {
    /// No result.
    Void,
    /// A pointer to a module record.
    Ptr,
    /// A 32-bit integer.
    I32,
}

/// A hook as the pass declares it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hook {
    /// The linker's name.
    pub symbol: &'static str,
    /// Parameter types, in order.
    pub params: &'static [HookType],
    /// Result type.
    pub result: HookType,
}

macro_rules! hook_type {
    (void) => {
        HookType::Void
    };
    (ptr) => {
        HookType::Ptr
    };
    (i32) => {
        HookType::I32
    };
}

macro_rules! constants {
    ($($(#[$doc:meta])* $constant:ident $name:ident $symbol:literal
        ($($param:ident: $ty:tt),*) -> $result:tt;)*) => {
        $($(#[$doc])* pub const $constant: Hook = Hook {
            symbol: $symbol,
            params: &[$(hook_type!($ty)),*],
            result: hook_type!($result),
        };)*
        /// All hooks: the symbols that stay global in the runtime object.
        pub const ALL: &[Hook] = &[$($constant),*];
    };
}
for_each_hook!(constants);
