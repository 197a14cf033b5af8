//! Descriptors of tests, and functions that ask whether a test is to be run (`shim/tests.cpp`).

use super::memory::{Type, Value};
use super::{Function, Global};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use std::ffi::c_void;
use std::mem::offset_of;
use unseen_abi::state;

/// With what functions ask. The shim knows this layout.
#[repr(C)]
pub struct Asking {
    pub call: Function,
    pub after: Function,
    pub verdict: Function,
    pub compare: Function,
    pub compared: Function,
    /// The module's state record.
    pub record: Global,
    /// A byte for each unit.
    pub gates: Global,
    pub desks: Global,
    /// Each thread's own counts of calls that did not have to ask, one for each unit.
    pub hits: Global,
    /// Room for [`state::TRACE_PLACES`].
    pub traces: Global,
    pub numbers: Numbers,
}
const _: () = assert!(size_of::<Asking>() == 168);

/// What the shim has to know of [`state::Desk`] and its use.
#[repr(C)]
pub struct Numbers([u64; 11]);

/// These numbers.
pub const NUMBERS: Numbers = Numbers([
    size_of::<state::Desk>() as u64,
    offset_of!(state::Desk, cache) as u64,
    state::WIDE_PLACES as u64,
    state::WIDE_WORDS as u64,
    state::SPREAD,
    state::HITS as u64,
    state::DUE_WORDS as u64,
    state::TRACE_PLACES as u64,
    state::RESCUE as i64 as u64,
    state::AFTER as u64,
    state::SEEN as i64 as u64,
]);

/// Something that is attached to a function. The shim knows this layout.
#[repr(C)]
pub struct Test {
    /// Null if its kind has none.
    function: LLVMValueRef,
    kind: u64,
}

impl Test {
    pub fn new(kind: state::Kind, function: Option<Function>) -> Test {
        Test { function: function.map_or(std::ptr::null_mut(), |f| f.0), kind: kind as u64 }
    }
}

/// A piece of a state: a parameter, or bytes of a variable. The shim knows this layout.
#[repr(C)]
pub struct Piece {
    /// Null if it is a parameter.
    variable: LLVMValueRef,
    /// Where in the variable, or which parameter.
    at: u64,
    size: u64,
}

impl Piece {
    pub fn param(number: u32, size: u64) -> Piece {
        Piece { variable: std::ptr::null_mut(), at: number.into(), size }
    }

    pub fn variable(variable: Value, at: u64, size: u64) -> Piece {
        Piece { variable: variable.0, at, size }
    }
}

type Take = unsafe extern "C" fn(*mut c_void, *const u8, usize);

unsafe extern "C" {
    fn unseen_shim_ask_for_tests(
        unit: LLVMValueRef,
        tests: *const Test,
        count: usize,
        key: *const Piece,
        pieces: usize,
        exact: u32,
        is_traced: bool,
        number: u32,
        asking: *const Asking,
    );
    fn unseen_shim_can_be_traced(function: LLVMValueRef) -> bool;
    fn unseen_shim_call_with(unit: LLVMValueRef, test: LLVMValueRef, name: *const u8, length: usize) -> LLVMValueRef;
    fn unseen_shim_word_at(variable: LLVMValueRef, offset: u64, is_pointer: bool) -> LLVMValueRef;
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

        /// Of a variable: the address that its initial value has at that offset.
        pub fn pointer_at(self, offset: u64) -> Option<Value> {
            let found = unsafe { unseen_shim_word_at(self.0, offset, true) };
            (!found.is_null() && unsafe { LLVMIsNull(found) } == 0).then_some(Value(found))
        }

        /// Of a variable: the 64-bit number that its initial value has at that offset.
        pub fn number_at(self, offset: u64) -> Option<u64> {
            unsafe {
                let found = unseen_shim_word_at(self.0, offset, false);
                let is_number = !found.is_null() && !LLVMIsAConstantInt(found).is_null();
                is_number.then(|| LLVMConstIntGetZExtValue(found))
            }
        }

        /// Removes a variable to which nothing refers but lists of what must stay.
        pub fn remove_descriptor(self) {
            unsafe { unseen_shim_remove_descriptor(self.0) };
        }
    }

    impl Function {
        /// A new function of that name which takes what this one takes, and calls it, and then `test` with its result.
        pub fn call_with(self, test: Function, name: &str) -> Function {
            Function(unsafe { unseen_shim_call_with(self.0, test.0, name.as_ptr(), name.len()) })
        }

        /// Removes it, if nobody refers to it.
        pub fn remove(self) {
            unsafe { LLVMDeleteFunction(self.0) };
        }

        /// Whether a copy of it can tell what it is about to read (`shim/traces.cpp`).
        pub fn can_be_traced(self) -> bool {
            unsafe { unseen_shim_can_be_traced(self.0) }
        }

        /// Lets it ask whether one of its tests is to be run, as the unit of that number.
        /// If its state is `told.exact` bytes, those of these pieces, or if it has traces, it asks only if it does not know better.
        pub fn ask_for_tests(self, tests: &[Test], key: &[Piece], told: &state::Unit, number: u32, asking: &Asking) {
            let (first, count) = (tests.as_ptr(), tests.len());
            let (pieces, is_traced) = (key.len(), told.flags & state::TRACED != 0);
            unsafe {
                unseen_shim_ask_for_tests(
                    self.0,
                    first,
                    count,
                    key.as_ptr(),
                    pieces,
                    told.exact,
                    is_traced,
                    number,
                    asking,
                );
            }
        }
    }
}
