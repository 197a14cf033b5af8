//! Views of type-based alias metadata, and of the names and fields of struct types.

use super::Inst;
use super::memory::{Shape, Type, Value};
use llvm_sys::core::*;
use llvm_sys::prelude::*;

/// A node of metadata, a text or a number in one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Node(LLVMValueRef);

// SAFETY of every block in this file: as in the parent module.
#[allow(clippy::undocumented_unsafe_blocks)]
mod views {
    use super::*;

    impl Node {
        /// Of a node: what it holds.
        pub fn operands(self) -> Vec<Node> {
            unsafe { super::super::views::operands(self.0).into_iter().map(Node).collect() }
        }

        pub fn text(self) -> Option<String> {
            unsafe {
                let mut length = 0;
                let text = LLVMGetMDString(self.0, &mut length);
                (!text.is_null()).then(|| super::super::views::text(text, length as usize))
            }
        }

        pub fn number(self) -> Option<u64> {
            unsafe { (!LLVMIsAConstantInt(self.0).is_null()).then(|| LLVMConstIntGetZExtValue(self.0)) }
        }
    }

    impl Inst {
        /// Of a load or store: what type the source accesses there, as part of which.
        pub fn access_tag(self) -> Option<Node> {
            /// LLVM's `LLVMContext::MD_tbaa`, which has this number in every context: every access is asked for it.
            const TBAA: u32 = 1;
            unsafe {
                let tag =
                    if LLVMHasMetadata(self.0) == 0 { std::ptr::null_mut() } else { LLVMGetMetadata(self.0, TBAA) };
                (!tag.is_null()).then_some(Node(tag))
            }
        }
    }

    impl Type {
        /// Of a struct: its name, if it has one.
        pub fn name(self) -> Option<String> {
            unsafe {
                if self.shape() != Shape::Struct || LLVMIsLiteralStruct(self.raw()) != 0 {
                    return None;
                }
                let name = LLVMGetStructName(self.raw());
                (!name.is_null()).then(|| std::ffi::CStr::from_ptr(name).to_string_lossy().into_owned())
            }
        }
    }

    impl Value {
        /// Of an address computation: the type that it counts in.
        pub fn source_type(self) -> Type {
            Type::from_raw(unsafe { LLVMGetGEPSourceElementType(self.0) })
        }
    }
}
