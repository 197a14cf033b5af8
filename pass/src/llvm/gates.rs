//! What `pass/shim/gates.cpp` and `bodies.cpp` do: hooks that are called only while somebody watches, bodies without hooks, and functions
//! that stand for others.

use super::{Function, Global, Module};
use llvm_sys::prelude::*;

/// Hooks and variables, as the shim reads them.
#[repr(C)]
pub struct Gates {
    /// What functions call at their start until it becomes a call of `enter`.
    pub entry: Function,
    /// Tells the runtime, with the module's access record.
    pub enter: Function,
    pub leave: Function,
    pub read: Function,
    pub text: Function,
    pub write: Function,
    pub gate: Global,
    pub countdown: Global,
}
const _: () = assert!(size_of::<Gates>() == 64);

unsafe extern "C" {
    fn unseen_shim_split(function: LLVMValueRef, gates: *const Gates) -> bool;
    fn unseen_shim_gate(module: LLVMModuleRef, gates: *const Gates);
    fn unseen_shim_describe_hook(function: LLVMValueRef, reads: bool);
    fn unseen_shim_wrap(function: LLVMValueRef, name: *const u8, length: usize) -> LLVMValueRef;
    fn unseen_shim_declare_entry(module: LLVMModuleRef, name: *const u8, length: usize) -> LLVMValueRef;
}

// SAFETY of every block in this file: as in the parent module.
#[allow(clippy::undocumented_unsafe_blocks)]
mod views {
    use super::*;

    impl Module {
        /// Declares what functions call at their start: unit, frame, and their parameters.
        pub fn declare_entry(self, name: &str) -> Function {
            Function(unsafe { unseen_shim_declare_entry(self.0, name.as_ptr(), name.len()) })
        }

        /// Makes entries calls of `enter`, and puts the other hooks behind the gate.
        pub fn put_behind_gates(self, gates: &Gates) {
            unsafe { unseen_shim_gate(self.0, gates) };
        }
    }

    impl Function {
        /// Moves a body with hooks elsewhere, and leaves one without that goes there while somebody watches. Returns whether that was
        /// possible.
        pub fn split(self, gates: &Gates) -> bool {
            unsafe { unseen_shim_split(self.0, gates) }
        }

        /// Puts a function that calls this one in its place wherever its address is used. `None` if it is only called.
        pub fn wrap(self, name: &str) -> Option<Function> {
            let wrapper = unsafe { unseen_shim_wrap(self.0, name.as_ptr(), name.len()) };
            (!wrapper.is_null()).then_some(Function(wrapper))
        }

        /// Tells the optimiser that a hook changes nothing that the program can see; with `reads` it looks at all of it.
        pub fn describe_hook(self, reads: bool) {
            unsafe { unseen_shim_describe_hook(self.0, reads) };
        }
    }
}
