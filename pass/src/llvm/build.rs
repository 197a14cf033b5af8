//! What instrumentation adds around instructions: calls of hooks with values of the program.

use super::memory::{Shape, Value};
use super::{Block, Function, Global, Inst, Module};
use llvm_sys::core::*;
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::*;
use std::ffi::CString;
use unseen_abi::hooks::Hook;

/// An argument of a hook.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Argument {
    Value(Value),
    /// A number of the program's as an unsigned 64-bit one.
    Wide(Value),
    /// The product of two.
    Product(Value, Value),
    /// The same with these bits set.
    With(Value, u64),
    /// The pointer that lies there.
    Pointed(Value),
    /// So many bytes behind a pointer.
    Further(Value, u64),
    /// As many bytes as an element has if the mask chooses this one, else 0.
    Lane {
        mask: Value,
        lane: u32,
        each: u64,
    },
    /// As many bytes as all elements have that the mask chooses.
    Chosen {
        mask: Value,
        each: u64,
    },
    I32(u32),
    I64(u64),
}

// SAFETY of every block in this file: as in the parent module.
#[allow(clippy::undocumented_unsafe_blocks)]
mod views {
    use super::*;

    /// A place before which instructions are added; they get its source location.
    struct Builder(LLVMBuilderRef, LLVMContextRef);

    impl Builder {
        fn before(inst: Inst) -> Builder {
            unsafe {
                let context = LLVMGetTypeContext(LLVMTypeOf(inst.0));
                let builder = LLVMCreateBuilderInContext(context);
                LLVMPositionBuilderBefore(builder, inst.0);
                LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(inst.0));
                Builder(builder, context)
            }
        }

        fn i64(&self) -> LLVMTypeRef {
            unsafe { LLVMInt64TypeInContext(self.1) }
        }

        fn wide(&self, value: Value) -> LLVMValueRef {
            unsafe { LLVMBuildZExtOrBitCast(self.0, self.cut(value), self.i64(), c"".as_ptr()) }
        }

        /// A number of at most 64 bits.
        fn cut(&self, value: Value) -> LLVMValueRef {
            match value.ty().shape() {
                Shape::Integer(bits) if bits > 64 => unsafe {
                    LLVMBuildTrunc(self.0, value.0, self.i64(), c"".as_ptr())
                },
                _ => value.0,
            }
        }

        fn lane(&self, mask: Value, lane: u32, each: u64) -> LLVMValueRef {
            unsafe {
                let index = LLVMConstInt(LLVMInt32TypeInContext(self.1), u64::from(lane), 0);
                let chosen = LLVMBuildExtractElement(self.0, mask.0, index, c"".as_ptr());
                let (bytes, none) = (LLVMConstInt(self.i64(), each, 0), LLVMConstInt(self.i64(), 0, 0));
                LLVMBuildSelect(self.0, chosen, bytes, none, c"".as_ptr())
            }
        }

        fn argument(&self, argument: Argument) -> LLVMValueRef {
            unsafe {
                match argument {
                    Argument::Value(v) => v.0,
                    Argument::Wide(v) => self.wide(v),
                    Argument::With(v, bits) => {
                        let wide = self.wide(v);
                        LLVMBuildOr(self.0, wide, LLVMConstInt(LLVMTypeOf(wide), bits, 0), c"".as_ptr())
                    }
                    Argument::Product(a, b) => LLVMBuildMul(self.0, self.wide(a), self.wide(b), c"".as_ptr()),
                    Argument::Pointed(v) => {
                        LLVMBuildLoad2(self.0, LLVMPointerTypeInContext(self.1, 0), v.0, c"".as_ptr())
                    }
                    Argument::Further(v, bytes) => {
                        let mut bytes = LLVMConstInt(self.i64(), bytes, 0);
                        LLVMBuildGEP2(self.0, LLVMInt8TypeInContext(self.1), v.0, &mut bytes, 1, c"".as_ptr())
                    }
                    Argument::Lane { mask, lane, each } => self.lane(mask, lane, each),
                    Argument::Chosen { mask, each } => (0..mask.ty().lanes())
                        .map(|lane| self.lane(mask, lane, each))
                        .reduce(|a, b| LLVMBuildAdd(self.0, a, b, c"".as_ptr()))
                        .unwrap_or_else(|| LLVMConstInt(self.i64(), 0, 0)),
                    Argument::I32(n) => LLVMConstInt(LLVMInt32TypeInContext(self.1), u64::from(n), 0),
                    Argument::I64(n) => LLVMConstInt(self.i64(), n, 0),
                }
            }
        }

        fn call(&self, hook: Function, arguments: &[Argument]) {
            let mut values: Vec<_> = arguments.iter().map(|a| self.argument(*a)).collect();
            unsafe {
                let ty = LLVMGlobalGetValueType(hook.0);
                LLVMBuildCall2(self.0, ty, hook.0, values.as_mut_ptr(), values.len() as u32, c"".as_ptr());
            }
        }
    }

    impl Drop for Builder {
        fn drop(&mut self) {
            unsafe { LLVMDisposeBuilder(self.0) };
        }
    }

    impl Module {
        /// Declares a hook, which never unwinds.
        pub fn declare_hook(self, hook: &Hook) -> Function {
            let symbol = CString::new(hook.symbol).expect("our own names hold no NUL");
            unsafe {
                let mut function = LLVMGetNamedFunction(self.0, symbol.as_ptr());
                if function.is_null() {
                    function = LLVMAddFunction(self.0, symbol.as_ptr(), self.hook_type(hook));
                }
                Function(function).add_attribute("nounwind");
                Function(function)
            }
        }

        /// Adds an internal function that gives the address of the n-th of these variables in the thread that calls it.
        pub fn add_resolver(self, name: &str, variables: &[Value]) -> Function {
            let name = CString::new(name).expect("our own names hold no NUL");
            unsafe {
                let context = self.context();
                let pointer = LLVMPointerTypeInContext(context, 0);
                let ty = LLVMFunctionType(pointer, &mut LLVMInt32TypeInContext(context), 1, 0);
                let function = LLVMAddFunction(self.0, name.as_ptr(), ty);
                LLVMSetLinkage(function, llvm_sys::LLVMLinkage::LLVMInternalLinkage);
                let block = || LLVMAppendBasicBlockInContext(context, function, c"".as_ptr());
                let (entry, nothing) = (block(), block());
                let builder = LLVMCreateBuilderInContext(context);
                LLVMPositionBuilderAtEnd(builder, nothing);
                LLVMBuildRet(builder, LLVMConstNull(pointer));
                LLVMPositionBuilderAtEnd(builder, entry);
                let switch = LLVMBuildSwitch(builder, LLVMGetParam(function, 0), nothing, variables.len() as u32);
                for (i, variable) in variables.iter().enumerate() {
                    let here = block();
                    LLVMAddCase(switch, LLVMConstInt(LLVMInt32TypeInContext(context), i as u64, 0), here);
                    LLVMPositionBuilderAtEnd(builder, here);
                    let address = self.call_intrinsic(builder, "llvm.threadlocal.address", &mut [variable.0]);
                    LLVMBuildRet(builder, address);
                }
                LLVMDisposeBuilder(builder);
                Function(function)
            }
        }

        unsafe fn call_intrinsic(
            self,
            builder: LLVMBuilderRef,
            name: &str,
            arguments: &mut [LLVMValueRef],
        ) -> LLVMValueRef {
            unsafe {
                let id = LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len());
                let mut pointer = LLVMPointerTypeInContext(self.context(), 0);
                let intrinsic = LLVMGetIntrinsicDeclaration(self.0, id, &mut pointer, 1);
                let ty = LLVMGlobalGetValueType(intrinsic);
                LLVMBuildCall2(builder, ty, intrinsic, arguments.as_mut_ptr(), arguments.len() as u32, c"".as_ptr())
            }
        }
    }

    impl Value {
        /// A variable that was added.
        pub fn of(global: Global) -> Value {
            Value(global.0)
        }

        /// Of a variable: as one.
        pub fn global(self) -> Global {
            Global(self.0)
        }
    }

    impl Function {
        /// Gives it the attribute of that name, as LLVM spells it.
        pub fn add_attribute(self, name: &str) {
            unsafe {
                let context = LLVMGetTypeContext(LLVMTypeOf(self.0));
                let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
                let attribute = LLVMCreateEnumAttribute(context, kind, 0);
                LLVMAddAttributeAtIndex(self.0, llvm_sys::LLVMAttributeFunctionIndex, attribute);
            }
        }

        /// Makes it the module's own.
        pub fn make_internal(self) {
            unsafe {
                LLVMSetLinkage(self.0, llvm_sys::LLVMLinkage::LLVMInternalLinkage);
                LLVMSetVisibility(self.0, llvm_sys::LLVMVisibility::LLVMDefaultVisibility);
            }
        }

        /// As a global.
        pub fn global(self) -> Global {
            Global(self.0)
        }

        /// Calls `entry` at the start with `first`, the address of the frame, which is returned, and the parameters as 64-bit words.
        /// Parameters that are no numbers or pointers become 0.
        pub fn call_at_entry(self, module: Module, entry: Function, first: Argument) -> Value {
            let allocas = |i: &Inst| i.opcode() == super::super::Opcode::LLVMAlloca;
            let at = self.blocks()[0].instructions().find(|i| !allocas(i)).expect("a block has a terminator");
            unsafe {
                let context = module.context();
                let word = LLVMInt64TypeInContext(context);
                let builder = Builder(LLVMCreateBuilderInContext(context), context);
                LLVMPositionBuilderBefore(builder.0, at.0);
                // A call needs a location where its function has one.
                if let Some(subprogram) = self.subprogram() {
                    let line = subprogram.line();
                    let location =
                        LLVMDIBuilderCreateDebugLocation(context, line, 0, subprogram.0, std::ptr::null_mut());
                    LLVMSetCurrentDebugLocation2(builder.0, location);
                }
                let zero = LLVMConstInt(LLVMInt32TypeInContext(context), 0, 0);
                let frame = module.call_intrinsic(builder.0, "llvm.frameaddress", &mut [zero]);
                let mut arguments = vec![builder.argument(first), frame];
                for i in 0..LLVMCountParams(self.0) {
                    let value = LLVMGetParam(self.0, i);
                    arguments.push(match Value(value).ty().shape() {
                        Shape::Pointer => LLVMBuildPtrToInt(builder.0, value, word, c"".as_ptr()),
                        Shape::Integer(bits) if bits < 64 => LLVMBuildZExt(builder.0, value, word, c"".as_ptr()),
                        Shape::Integer(64) => value,
                        Shape::Integer(_) => LLVMBuildTrunc(builder.0, value, word, c"".as_ptr()),
                        _ => LLVMConstInt(word, 0, 0),
                    });
                }
                let ty = LLVMGlobalGetValueType(entry.0);
                let count = arguments.len() as u32;
                LLVMBuildCall2(builder.0, ty, entry.0, arguments.as_mut_ptr(), count, c"".as_ptr());
                Value(frame)
            }
        }
    }

    impl Inst {
        /// Calls a hook before this instruction.
        pub fn call_before(self, hook: Function, arguments: &[Argument]) {
            Builder::before(self).call(hook, arguments);
        }

        /// Of a call: the instruction that runs next if it returns.
        pub fn next(self) -> Option<Inst> {
            unsafe {
                if LLVMIsAInvokeInst(self.0).is_null() {
                    let next = LLVMGetNextInstruction(self.0);
                    return (!next.is_null()).then_some(Inst(next));
                }
                let normal = Block(LLVMGetNormalDest(self.0));
                let first = LLVMGetFirstInstruction(normal.0);
                // Where others come too, the value of this call is not known.
                let alone = self.block().is_only_predecessor_of(normal) && LLVMIsAPHINode(first).is_null();
                alone.then_some(Inst(first))
            }
        }

        /// Whether the call replaces its caller's frame.
        pub fn is_must_tail(self) -> bool {
            unsafe {
                !LLVMIsACallInst(self.0).is_null()
                    && LLVMGetTailCallKind(self.0) == llvm_sys::LLVMTailCallKind::LLVMTailCallKindMustTail
            }
        }
    }

    impl Block {
        fn is_only_predecessor_of(self, block: Block) -> bool {
            let uses =
                super::super::views::chain(unsafe { LLVMGetFirstUse(LLVMBasicBlockAsValue(block.0)) }, |u| unsafe {
                    LLVMGetNextUse(u)
                });
            uses.map(|u| unsafe { LLVMGetInstructionParent(LLVMGetUser(u)) }).all(|b| b == self.0)
        }
    }
}
