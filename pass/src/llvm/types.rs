//! Views of what debug info says about parameters, globals and types.

use super::Function;
use super::memory::Value;
use llvm_sys::core::LLVMGetParam;
use llvm_sys::prelude::*;
use std::ffi::c_char;

/// pass/shim/types.cpp has the same layout.
#[repr(C)]
struct RawType {
    kind: u32,
    fields: u32,
    name: *const c_char,
    name_length: usize,
    size: u64,
    count: u64,
    base: LLVMMetadataRef,
}
const _: () = assert!(size_of::<RawType>() == 48);

unsafe extern "C" {
    // pass/shim/types.cpp
    fn unseen_shim_param_variable(param: LLVMValueRef, indirect: *mut bool, offset: *mut u64) -> LLVMMetadataRef;
    fn unseen_shim_global_variable(global: LLVMValueRef) -> LLVMMetadataRef;
    fn unseen_shim_variable(variable: LLVMMetadataRef, name: *mut *const c_char, length: *mut usize)
    -> LLVMMetadataRef;
    fn unseen_shim_type(ty: LLVMMetadataRef, out: *mut RawType);
    fn unseen_shim_field(
        ty: LLVMMetadataRef,
        index: u32,
        name: *mut *const c_char,
        length: *mut usize,
        offset: *mut u64,
    ) -> LLVMMetadataRef;
}

/// A type of the source.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SourceType(LLVMMetadataRef);

/// A variable of the source.
pub struct Variable {
    pub name: String,
    pub ty: Option<SourceType>,
    /// The parameter points to it.
    pub indirect: bool,
    /// The parameter is the part of it at this offset, in bytes.
    pub offset: u64,
}

/// What a type is.
pub enum Described {
    /// Name and size.
    Plain(String, u64),
    Pointer(Option<SourceType>),
    /// Elements and how many.
    Array(Option<SourceType>, u64),
    /// Name, size, number of fields.
    Struct(String, u64, u32),
    /// Another name for it; empty where it only says how it is used (`const`).
    Same(String, SourceType),
}

// SAFETY of every block in this file: as in the parent module.
#[allow(clippy::undocumented_unsafe_blocks)]
mod views {
    use super::*;
    use crate::llvm::views::text;

    fn present(ty: LLVMMetadataRef) -> Option<SourceType> {
        (!ty.is_null()).then_some(SourceType(ty))
    }

    fn variable(raw: LLVMMetadataRef, indirect: bool, offset: u64) -> Option<Variable> {
        if raw.is_null() {
            return None;
        }
        let (mut name, mut length) = (std::ptr::null(), 0);
        let ty = present(unsafe { unseen_shim_variable(raw, &mut name, &mut length) });
        Some(Variable { name: unsafe { text(name, length) }, ty, indirect, offset })
    }

    impl Function {
        /// The variable that a parameter is, or is a part of.
        pub fn param_variable(self, param: u32) -> Option<Variable> {
            let (mut indirect, mut bits) = (false, 0);
            let raw = unsafe { unseen_shim_param_variable(LLVMGetParam(self.0, param), &mut indirect, &mut bits) };
            variable(raw, indirect, bits / 8)
        }
    }

    impl Value {
        /// Of a global variable: what the source calls it.
        pub fn source_variable(self) -> Option<Variable> {
            variable(unsafe { unseen_shim_global_variable(self.0) }, false, 0)
        }
    }

    impl SourceType {
        fn raw(self) -> RawType {
            let mut raw = std::mem::MaybeUninit::uninit();
            unsafe {
                unseen_shim_type(self.0, raw.as_mut_ptr());
                raw.assume_init()
            }
        }

        /// In bytes; 0 where it is not known, as for another name of a type.
        pub fn size(self) -> u64 {
            self.raw().size
        }

        pub fn describe(self) -> Described {
            let raw = self.raw();
            let name = unsafe { text(raw.name, raw.name_length) };
            match (raw.kind, present(raw.base)) {
                (1, to) => Described::Pointer(to),
                (2, of) => Described::Array(of, raw.count),
                (3, _) => Described::Struct(name, raw.size, raw.fields),
                (4, Some(base)) => Described::Same(name, base),
                _ => Described::Plain(name, raw.size),
            }
        }

        /// A field of a struct: name, offset in bytes, type.
        pub fn field(self, index: u32) -> Option<(String, u64, SourceType)> {
            let (mut name, mut length, mut bits) = (std::ptr::null(), 0, 0);
            let ty = unsafe { unseen_shim_field(self.0, index, &mut name, &mut length, &mut bits) };
            Some((unsafe { text(name, length) }, bits / 8, present(ty)?))
        }
    }
}
