//! Views of values, types, memory accesses and initial values: what an analysis of data needs to see.

use super::{Block, Function, Inst, Module, Opcode};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::*;
use llvm_sys::{LLVMAtomicRMWBinOp, LLVMTypeKind, LLVMValueKind};

/// Any value: an instruction's result, a parameter, a constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Value(pub(super) LLVMValueRef);

/// A type.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Type(LLVMTypeRef);

/// Sizes and offsets of types.
#[derive(Clone, Copy)]
pub struct Layout(LLVMTargetDataRef);

/// What a value is.
#[derive(Clone, Copy)]
pub enum Kind {
    Instruction(Inst),
    /// By number.
    Param(u32),
    Variable(Value),
    Function(Function),
    /// A number of at most 64 bits, sign extended.
    Number(i64),
    /// A constant made by an operation on constants.
    Expression(Opcode),
    /// Another name for a value.
    Alias(Value),
    /// A constant struct, array or vector with parts that may be pointers.
    Aggregate,
    /// A constant without pointers in it.
    Plain,
}

/// What a type is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    Void,
    /// In bits.
    Integer(u32),
    Pointer,
    Float,
    Vector,
    Array,
    Struct,
    Other,
}

/// An address computation.
pub struct Offset {
    pub base: Value,
    pub at: i64,
    /// Indices that are not constant, with the size of what they count.
    pub variable: Vec<(Value, u64)>,
}

// SAFETY of every block in this file: as in the parent module.
#[allow(clippy::undocumented_unsafe_blocks)]
mod views {
    use super::*;

    impl Module {
        /// Sizes and offsets on the module's target.
        pub fn layout(self) -> Layout {
            Layout(unsafe { LLVMGetModuleDataLayout(self.0) })
        }

        /// All global variables.
        pub fn variables(self) -> Vec<Value> {
            let first = unsafe { LLVMGetFirstGlobal(self.0) };
            super::super::views::chain(first, |g| unsafe { LLVMGetNextGlobal(g) }).map(Value).collect()
        }
    }

    impl Layout {
        /// In bytes; 0 where there is none.
        pub fn size(self, ty: Type) -> u64 {
            unsafe { if LLVMTypeIsSized(ty.0) == 0 { 0 } else { LLVMABISizeOfType(self.0, ty.0) } }
        }

        /// The bytes that a load or store of the type touches.
        pub fn stored_size(self, ty: Type) -> u64 {
            unsafe { if LLVMTypeIsSized(ty.0) == 0 { 0 } else { LLVMStoreSizeOfType(self.0, ty.0) } }
        }

        /// Where a part of a struct lies.
        pub fn offset(self, ty: Type, part: u32) -> u64 {
            unsafe { LLVMOffsetOfElement(self.0, ty.0, part) }
        }
    }

    impl Type {
        pub(in crate::llvm) fn from_raw(ty: LLVMTypeRef) -> Type {
            Type(ty)
        }

        pub(in crate::llvm) fn raw(self) -> LLVMTypeRef {
            self.0
        }

        pub fn shape(self) -> Shape {
            match unsafe { LLVMGetTypeKind(self.0) } {
                LLVMTypeKind::LLVMVoidTypeKind => Shape::Void,
                LLVMTypeKind::LLVMIntegerTypeKind => Shape::Integer(unsafe { LLVMGetIntTypeWidth(self.0) }),
                LLVMTypeKind::LLVMPointerTypeKind => Shape::Pointer,
                LLVMTypeKind::LLVMHalfTypeKind
                | LLVMTypeKind::LLVMBFloatTypeKind
                | LLVMTypeKind::LLVMFloatTypeKind
                | LLVMTypeKind::LLVMDoubleTypeKind
                | LLVMTypeKind::LLVMX86_FP80TypeKind
                | LLVMTypeKind::LLVMFP128TypeKind
                | LLVMTypeKind::LLVMPPC_FP128TypeKind => Shape::Float,
                LLVMTypeKind::LLVMVectorTypeKind => Shape::Vector,
                LLVMTypeKind::LLVMArrayTypeKind => Shape::Array,
                LLVMTypeKind::LLVMStructTypeKind => Shape::Struct,
                _ => Shape::Other,
            }
        }

        /// Of a vector with a fixed number of elements: that number; else 0.
        pub fn lanes(self) -> u32 {
            match self.shape() {
                Shape::Vector => unsafe { LLVMGetVectorSize(self.0) },
                _ => 0,
            }
        }

        /// How many parts a struct or array has.
        pub fn part_count(self) -> u64 {
            match self.shape() {
                Shape::Struct => u64::from(unsafe { LLVMCountStructElementTypes(self.0) }),
                Shape::Array => unsafe { LLVMGetArrayLength2(self.0) },
                _ => 0,
            }
        }

        /// The type of a part.
        pub fn part(self, index: u32) -> Type {
            Type(unsafe {
                match self.shape() {
                    Shape::Struct => LLVMStructGetTypeAtIndex(self.0, index),
                    _ => LLVMGetElementType(self.0),
                }
            })
        }

        /// Of a function: the types of its parameters, its result, and whether more may follow.
        pub fn signature(self) -> (Vec<Type>, Type, bool) {
            unsafe {
                let mut params = vec![std::ptr::null_mut(); LLVMCountParamTypes(self.0) as usize];
                LLVMGetParamTypes(self.0, params.as_mut_ptr());
                let result = Type(LLVMGetReturnType(self.0));
                (params.into_iter().map(Type).collect(), result, LLVMIsFunctionVarArg(self.0) != 0)
            }
        }
    }

    impl Value {
        pub fn kind(self) -> Kind {
            use LLVMValueKind::*;
            match unsafe { LLVMGetValueKind(self.0) } {
                LLVMInstructionValueKind => Kind::Instruction(Inst(self.0)),
                LLVMArgumentValueKind => Kind::Param(self.param_number()),
                LLVMGlobalVariableValueKind => Kind::Variable(self),
                LLVMFunctionValueKind => Kind::Function(Function(self.0)),
                LLVMGlobalAliasValueKind => Kind::Alias(Value(unsafe { LLVMAliasGetAliasee(self.0) })),
                LLVMConstantIntValueKind if unsafe { LLVMGetIntTypeWidth(LLVMTypeOf(self.0)) } <= 64 => {
                    Kind::Number(unsafe { LLVMConstIntGetSExtValue(self.0) })
                }
                LLVMConstantExprValueKind => Kind::Expression(unsafe { LLVMGetConstOpcode(self.0) }),
                LLVMConstantStructValueKind | LLVMConstantArrayValueKind | LLVMConstantVectorValueKind => {
                    Kind::Aggregate
                }
                _ => Kind::Plain,
            }
        }

        fn param_number(self) -> u32 {
            let function = unsafe { LLVMGetParamParent(self.0) };
            let first = unsafe { LLVMGetFirstParam(function) };
            let before = super::super::views::chain(first, |p| unsafe { LLVMGetNextParam(p) });
            before.take_while(|p| *p != self.0).count() as u32
        }

        pub fn ty(self) -> Type {
            Type(unsafe { LLVMTypeOf(self.0) })
        }

        /// Whether anything uses it.
        pub fn is_used(self) -> bool {
            unsafe { !LLVMGetFirstUse(self.0).is_null() }
        }

        pub fn operands(self) -> Vec<Value> {
            let count = unsafe { LLVMGetNumOperands(self.0) } as u32;
            (0..count).map(|i| Value(unsafe { LLVMGetOperand(self.0, i) })).collect()
        }

        /// Of a constant struct or array: a part.
        pub fn part(self, index: u32) -> Value {
            Value(unsafe { LLVMGetAggregateElement(self.0, index) })
        }

        /// Whether it is a pointer to ordinary memory.
        pub fn is_plain_pointer(self) -> bool {
            let ty = unsafe { LLVMTypeOf(self.0) };
            self.ty().shape() == Shape::Pointer && unsafe { LLVMGetPointerAddressSpace(ty) } == 0
        }

        /// Of a variable or function: the linker's name.
        pub fn name(self) -> String {
            Function(self.0).name()
        }

        /// Of a variable: the type of what it holds.
        pub fn held_type(self) -> Type {
            Type(unsafe { LLVMGlobalGetValueType(self.0) })
        }

        /// Of a variable: its initial value, if it is defined here.
        pub fn initial(self) -> Option<Value> {
            let value = unsafe { LLVMGetInitializer(self.0) };
            (!value.is_null()).then_some(Value(value))
        }

        /// Of a variable: whether it never changes, and this is its definition.
        pub fn is_constant(self) -> bool {
            unsafe { LLVMIsGlobalConstant(self.0) != 0 }
        }

        /// Of a variable: whether it has no name but in the module.
        pub fn is_private(self) -> bool {
            unsafe { LLVMGetLinkage(self.0) == llvm_sys::LLVMLinkage::LLVMPrivateLinkage }
        }

        /// Of a variable: whether code outside the module may refer to it by its name.
        pub fn is_visible(self) -> bool {
            Function(self.0).is_visible()
        }

        /// Of a variable: whether each thread has its own.
        pub fn is_thread_local(self) -> bool {
            unsafe { LLVMIsThreadLocal(self.0) != 0 }
        }

        /// Of an address computation: whether the source promises that it stays inside an object.
        pub fn stays_inside(self) -> bool {
            unsafe { LLVMIsInBounds(self.0) != 0 }
        }

        /// Of an address computation (instruction or constant): its parts.
        pub fn offset(self, layout: Layout) -> Offset {
            let operands = self.operands();
            let mut ty = Type(unsafe { LLVMGetGEPSourceElementType(self.0) });
            let mut offset = Offset { base: operands[0], at: 0, variable: Vec::new() };
            for (position, index) in operands[1..].iter().enumerate() {
                let number = match index.kind() {
                    Kind::Number(n) => Some(n),
                    _ => None,
                };
                if position > 0 && ty.shape() == Shape::Struct {
                    let part = number.unwrap_or(0) as u32;
                    offset.at = offset.at.wrapping_add(layout.offset(ty, part) as i64);
                    ty = ty.part(part);
                    continue;
                }
                if position > 0 {
                    ty = ty.part(0);
                }
                let size = layout.size(ty);
                match number {
                    Some(n) => offset.at = offset.at.wrapping_add(n.wrapping_mul(size as i64)),
                    None => offset.variable.push((*index, size)),
                }
            }
            offset
        }
    }

    impl Function {
        /// As a value.
        pub fn value(self) -> Value {
            Value(self.0)
        }

        /// The type with parameters and result.
        pub fn signature(self) -> (Vec<Type>, Type, bool) {
            Value(self.0).held_type().signature()
        }

        /// Whether a parameter has the attribute of that name.
        pub fn param_has_attribute(self, param: u32, name: &str) -> bool {
            unsafe {
                let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
                !LLVMGetEnumAttributeAtIndex(self.0, param + 1, kind).is_null()
            }
        }

        /// LLVM's `memory(...)` as bits: two for each kind of memory, read and write.
        pub fn memory_effects(self) -> Option<u64> {
            const NAME: &str = "memory";
            unsafe {
                let kind = LLVMGetEnumAttributeKindForName(NAME.as_ptr().cast(), NAME.len());
                let attribute = LLVMGetEnumAttributeAtIndex(self.0, llvm_sys::LLVMAttributeFunctionIndex, kind);
                (!attribute.is_null()).then(|| LLVMGetEnumAttributeValue(attribute))
            }
        }
    }

    impl Inst {
        /// As a value.
        pub fn value(self) -> Value {
            Value(self.0)
        }

        /// The block it stands in.
        pub fn block(self) -> Block {
            Block(unsafe { LLVMGetInstructionParent(self.0) })
        }

        /// Of a load, store or atomic operation.
        pub fn is_volatile(self) -> bool {
            unsafe { LLVMGetVolatile(self.0) != 0 }
        }

        /// Of an atomic operation: whether what it stores is computed of what lay there.
        pub fn stores_computed(self) -> bool {
            unsafe {
                !LLVMIsAAtomicRMWInst(self.0).is_null()
                    && LLVMGetAtomicRMWBinOp(self.0) != LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpXchg
            }
        }

        /// Of a call: what is passed.
        pub fn arguments(self) -> Vec<Value> {
            let count = unsafe { LLVMGetNumArgOperands(self.0) };
            (0..count).map(|i| Value(unsafe { LLVMGetArgOperand(self.0, i) })).collect()
        }

        /// Of a call: of how many bytes behind an argument, a pointer, the callee gets a copy of its own.
        pub fn copied(self, argument: u32, layout: Layout) -> Option<u64> {
            const NAME: &str = "byval";
            unsafe {
                let kind = LLVMGetEnumAttributeKindForName(NAME.as_ptr().cast(), NAME.len());
                let mut attribute = LLVMGetCallSiteEnumAttribute(self.0, argument + 1, kind);
                let function = LLVMIsAFunction(LLVMGetCalledValue(self.0));
                if attribute.is_null() && !function.is_null() {
                    attribute = LLVMGetEnumAttributeAtIndex(function, argument + 1, kind);
                }
                (!attribute.is_null()).then(|| layout.size(Type(LLVMGetTypeAttributeValue(attribute))))
            }
        }

        /// Of a call: what is called.
        pub fn called(self) -> Value {
            Value(unsafe { LLVMGetCalledValue(self.0) })
        }

        /// Of a call: the type it is called by.
        pub fn called_signature(self) -> (Vec<Type>, Type, bool) {
            Type(unsafe { LLVMGetCalledFunctionType(self.0) }).signature()
        }

        /// Of an invoke: where it goes if the callee throws.
        pub fn unwinds_to(self) -> Block {
            Block(unsafe { LLVMGetUnwindDest(self.0) })
        }

        /// Whether it carries metadata of that name.
        pub fn has_metadata(self, name: &str) -> bool {
            unsafe {
                let context = LLVMGetTypeContext(LLVMTypeOf(self.0));
                let kind = LLVMGetMDKindIDInContext(context, name.as_ptr().cast(), name.len() as u32);
                LLVMHasMetadata(self.0) != 0 && !LLVMGetMetadata(self.0, kind).is_null()
            }
        }

        /// Of a load: whether it loads the pointer to a C++ object's table of virtual functions, as type-based alias
        /// metadata says. `None` without such metadata.
        pub fn loads_vtable_pointer(self) -> Option<bool> {
            let node = *self.access_tag()?.operands().first()?;
            let name = node.operands().first()?.text();
            Some(name.as_deref() == Some("vtable pointer"))
        }

        /// Of a phi: what it may be.
        pub fn incoming(self) -> Vec<Value> {
            let count = unsafe { LLVMCountIncoming(self.0) };
            (0..count).map(|i| Value(unsafe { LLVMGetIncomingValue(self.0, i) })).collect()
        }

        /// Of inline assembly that is called: whether it says that it touches memory.
        pub fn assembly_touches_memory(self) -> bool {
            unsafe {
                let assembly = LLVMGetCalledValue(self.0);
                let mut length = 0;
                let text = LLVMGetInlineAsmConstraintString(assembly, &mut length);
                let constraints = super::super::views::text(text, length);
                let indirect = constraints.split(',').any(|c| c.contains('*') || c.contains('m'));
                indirect || constraints.contains("~{memory}") || LLVMGetInlineAsmHasSideEffects(assembly) != 0
            }
        }
    }
}
