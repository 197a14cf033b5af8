//! The one list of hooks: what instrumented code and `unseen.h` call, what the runtime defines.
//!
//! The pass declares hooks from [`Hook`] values, the runtime defines its functions by expanding
//! [`for_each_hook!`](crate::for_each_hook): a hook can't exist on one side only.

/// Calls `$visit!` with the hooks that every instrumented program has. Each entry: docs, constant, function name, symbol,
/// parameters, result. Types are `ptr` (`*const ModuleRecord`), `i32`; results also `void`.
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

/// As [`for_each_hook!`](crate::for_each_hook), for the hooks of programs that are built with `access`: a part of the runtime of its
/// own, which no other program has. Types are `access` (`*const AccessRecord`), `any` (an address of the program's), `i64`, `i32`;
/// results `void`.
#[macro_export]
macro_rules! for_each_access_hook {
    ($visit:path) => {
        $visit! {
            /// A module with units enters the process. Part of its name is the ABI version, as for the other modules' hook.
            ACCESS_ENTER_MODULE enter_module "__unseen_access_v1" (record: access) -> void;
            /// That module leaves the process.
            ACCESS_LEAVE_MODULE leave_module "__unseen_access_leave_v1" (record: access) -> void;
            /// A unit is entered: its number, its arguments as 64-bit words, its frame.
            ACCESS_ENTER enter "__unseen_access_enter" (module: access, unit: i32, arguments: any, count: i32, frame: any) -> void;
            /// The unit with that frame is left.
            ACCESS_LEAVE leave "__unseen_access_leave" (frame: any) -> void;
            /// Memory is about to be read, at a site of the module.
            ACCESS_READ read "__unseen_access_read" (address: any, size: i64, site: i32) -> void;
            /// A text is about to be read, its zero byte included.
            ACCESS_TEXT text "__unseen_access_text" (address: any, site: i32) -> void;
            /// Memory is about to be written, or was written by a callee.
            ACCESS_WRITE write "__unseen_access_write" (address: any, size: i64) -> void;
            /// Memory was allocated. A size of -1 stands for a text, -2 for something of a library's that never changes, wherever it lies.
            ACCESS_NEW new "__unseen_access_new" (address: any, size: i64) -> void;
            /// Memory is about to be given back.
            ACCESS_FREE free "__unseen_access_free" (address: any) -> void;
        }
    };
}

/// As [`for_each_hook!`](crate::for_each_hook), for the hooks of programs in which functions have tests: a part of the runtime of its
/// own. Types are `state` (`*const StateRecord`), `any` (an address of the program's), `i32`; results `void` and `i32`.
#[macro_export]
macro_rules! for_each_state_hook {
    ($visit:path) => {
        $visit! {
            /// A module with tests enters the process. Part of its name is the ABI version, as for the other modules' hook.
            STATE_ENTER_MODULE enter_module "__unseen_state_v3" (record: state) -> void;
            /// That module leaves the process.
            STATE_LEAVE_MODULE leave_module "__unseen_state_leave_v3" (record: state) -> void;
            /// A unit is called, with these arguments as 64-bit words, or in this state. `hits` is where the thread counts calls that did
            /// not have to ask; null if there are none. Gives what is to be done, see [`unseen_abi::state::AFTER`].
            STATE_CALL call "__unseen_state_call" (record: state, unit: i32, words: any, count: i32, hits: any) -> i32;
            /// The unit is about to return, and tests are due: `words` is as the call left it. Gives 0 in the program, and in a copy of it
            /// the number of the test that is to be run there.
            STATE_AFTER after "__unseen_state_after" (record: state, unit: i32, words: any) -> i32;
            /// The test is over, and this is what it found: 0 is that something is wrong. Does not return.
            STATE_VERDICT verdict "__unseen_state_verdict" (verdict: i32) -> void;
            /// In a copy of the process: a unit is about to be called, and what it does is to be compared with what it does in another copy.
            STATE_COMPARE compare "__unseen_state_compare" (record: state, unit: i32, words: any, count: i32) -> void;
            /// It has returned, with a result of so many bytes. Does not return.
            STATE_COMPARED compared "__unseen_state_compared" (result: any, size: i64) -> void;
        }
    };
}

/// Type of a hook's parameter or result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HookType {
    /// No result.
    Void,
    /// A pointer.
    Ptr,
    /// A 64-bit integer.
    I64,
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
    (access) => {
        HookType::Ptr
    };
    (state) => {
        HookType::Ptr
    };
    (any) => {
        HookType::Ptr
    };
    (i64) => {
        HookType::I64
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
    };
}
for_each_hook!(constants);
for_each_access_hook!(constants);
for_each_state_hook!(constants);

macro_rules! basic {
    ($($(#[$doc:meta])* $constant:ident $name:ident $symbol:literal $params:tt -> $result:tt;)*) => {
        /// The hooks of every program: the symbols that stay global in the basic part of the runtime.
        pub const BASIC: &[Hook] = &[$($constant),*];
    };
}
for_each_hook!(basic);

macro_rules! access {
    ($($(#[$doc:meta])* $constant:ident $name:ident $symbol:literal $params:tt -> $result:tt;)*) => {
        /// Those of programs with `access`: the symbols that stay global in that part.
        pub const ACCESS: &[Hook] = &[$($constant),*];
    };
}
for_each_access_hook!(access);

macro_rules! state {
    ($($(#[$doc:meta])* $constant:ident $name:ident $symbol:literal $params:tt -> $result:tt;)*) => {
        /// Those of programs with tests: the symbols that stay global in that part.
        pub const STATE: &[Hook] = &[$($constant),*];
    };
}
for_each_state_hook!(state);
