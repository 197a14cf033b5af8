//! Descriptors of tests, and functions that ask whether a test is to be run (`shim/tests.cpp`).

use super::memory::{Type, Value};
use super::{Function, Global};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use std::ffi::c_void;

/// With what functions ask. The shim knows this layout.
#[repr(C)]
pub struct Asking {
    pub call: Function,
    pub verdict: Function,
    /// The module's state record.
    pub record: Global,
    pub gate: Global,
}
const _: () = assert!(size_of::<Asking>() == 32);

type Take = unsafe extern "C" fn(*mut c_void, *const u8, usize);

unsafe extern "C" {
    fn unseen_shim_ask_for_tests(
        unit: LLVMValueRef,
        tests: *const Function,
        count: usize,
        number: u32,
        asking: *const Asking,
    );
    fn unseen_shim_remove_descriptor(variable: LLVMValueRef);
    fn unseen_shim_demangle(name: *const u8, length: usize, to: *mut c_void, take: Take);
    fn unseen_shim_print_type(ty: LLVMTypeRef, to: *mut c_void, take: Take);
}

/// The text that the shim gives.
fn taken(give: impl FnOnce(*mut c_void, Take)) -> String {
    unsafe extern "C" fn take(to: *mut c_void, text: *const u8, length: usize) {
        // SAFETY: the string below, and the shim's text.
        unsafe {
            *to.cast::<String>() = String::from_utf8_lossy(std::slice::from_raw_parts(text, length)).into_owned()
        };
    }
    let mut out = String::new();
    give((&raw mut out).cast(), take);
    out
}

/// The name in the source of a linker's name, with scopes and parameters.
pub fn demangle(name: &str) -> String {
    // SAFETY: a text with its length.
    taken(|to, take| unsafe { unseen_shim_demangle(name.as_ptr(), name.len(), to, take) })
}

// SAFETY of every block in this module: as in the parent module.
#[allow(clippy::undocumented_unsafe_blocks)]
mod views {
    use super::*;

    impl Type {
        /// As LLVM writes it.
        pub fn text(self) -> String {
            taken(|to, take| unsafe { unseen_shim_print_type(self.raw(), to, take) })
        }
    }

    impl Value {
        /// Of a variable: the section that it asks for; empty without.
        pub fn section(self) -> String {
            let section = unsafe { LLVMGetSection(self.0) };
            if section.is_null() {
                return String::new();
            }
            unsafe { std::ffi::CStr::from_ptr(section) }.to_string_lossy().into_owned()
        }

        /// Of a constant: its bytes up to the first zero, if it is a text.
        pub fn text(self) -> Option<String> {
            unsafe {
                if LLVMIsAConstantDataArray(self.0).is_null() || LLVMIsConstantString(self.0) == 0 {
                    return None;
                }
                let mut length = 0;
                let text = LLVMGetAsString(self.0, &mut length);
                let bytes = std::slice::from_raw_parts(text.cast::<u8>(), length);
                let end = bytes.iter().position(|b| *b == 0).unwrap_or(length);
                Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
            }
        }

        /// Removes a variable to which nothing refers but lists of what must stay.
        pub fn remove_descriptor(self) {
            unsafe { unseen_shim_remove_descriptor(self.0) };
        }
    }

    impl Function {
        /// Lets it ask whether one of its tests is to be run, as the unit of that number.
        pub fn ask_for_tests(self, tests: &[Function], number: u32, asking: &Asking) {
            unsafe { unseen_shim_ask_for_tests(self.0, tests.as_ptr(), tests.len(), number, asking) };
        }
    }
}
