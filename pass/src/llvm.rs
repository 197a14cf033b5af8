//! The only place that calls LLVM. Typed, copyable views of what the module owns; none outlives the module, and
//! nothing here decides anything.

use llvm_sys::LLVMLinkage;
use llvm_sys::comdat::LLVMGetComdat;
use llvm_sys::core::*;
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::*;
use std::ffi::{CString, c_char};
use unseen_abi::hooks::{Hook, HookType};

pub mod build;
pub mod gates;
pub mod memory;
pub mod tbaa;
pub mod tests;
pub mod types;

pub use llvm_sys::LLVMOpcode as Opcode;

unsafe extern "C" {
    // pass/shim/plugin.cpp
    fn unseen_shim_split_edge(terminator: LLVMValueRef, successor: u32) -> LLVMBasicBlockRef;
    fn unseen_shim_declare_probe(module: LLVMModuleRef, name: *const c_char, length: usize) -> LLVMValueRef;
    fn unseen_shim_admit_stores(module: LLVMModuleRef);
    fn unseen_shim_append_ctor(module: LLVMModuleRef, function: LLVMValueRef);
    fn unseen_shim_append_dtor(module: LLVMModuleRef, function: LLVMValueRef);
    fn unseen_shim_strip_units(module: LLVMModuleRef, marker: *const c_char, length: usize);
    fn unseen_shim_subprogram_name(subprogram: LLVMMetadataRef, length: *mut usize) -> *const u8;
    // pass/shim/loops.cpp
    fn unseen_shim_copy_loops(probe: LLVMValueRef, counters: LLVMValueRef, epoch: LLVMValueRef);
}

/// A module.
#[derive(Clone, Copy)]
pub struct Module(LLVMModuleRef);

/// A function, defined or declared.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Function(LLVMValueRef);

/// A basic block.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Block(LLVMBasicBlockRef);

/// An instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Inst(LLVMValueRef);

/// A global variable.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Global(LLVMValueRef);

/// A file in debug info.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct File(LLVMMetadataRef);

/// The source location of an instruction, inside the innermost inlined function.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Location(LLVMMetadataRef);

/// What debug info says about a function.
#[derive(Clone, Copy)]
pub struct Subprogram(LLVMMetadataRef);

/// What a call calls.
#[derive(Clone, Copy)]
pub enum Callee {
    /// One function.
    Direct(Function),
    /// Inline assembly.
    Assembly,
    /// Whatever the pointer points to.
    Indirect,
}

// SAFETY of every block in this file: the references come from LLVM through the module that the shim passed in, and
// the module outlives the pass. Nothing is freed except instructions that this file says it erases.
#[allow(clippy::undocumented_unsafe_blocks)]
mod views {
    use super::*;

    impl Module {
        /// # Safety
        /// `raw` must be a valid module of this process's LLVM.
        pub unsafe fn from_raw(raw: LLVMModuleRef) -> Module {
            Module(raw)
        }

        /// All functions in the order of the module, intrinsics left out.
        pub fn functions(self) -> Vec<Function> {
            let first = unsafe { LLVMGetFirstFunction(self.0) };
            chain(first, |f| unsafe { LLVMGetNextFunction(f) }).map(Function).filter(|f| f.intrinsic() == 0).collect()
        }

        /// The value of an integer module flag.
        pub fn has_flag(self, name: &str) -> bool {
            !unsafe { LLVMGetModuleFlag(self.0, name.as_ptr().cast(), name.len()) }.is_null()
        }

        /// Sets an integer module flag.
        pub fn set_flag(self, name: &str, value: u32) {
            unsafe {
                let constant = LLVMConstInt(LLVMInt32TypeInContext(self.context()), u64::from(value), 0);
                LLVMAddModuleFlag(
                    self.0,
                    llvm_sys::LLVMModuleFlagBehavior::LLVMModuleFlagBehaviorWarning,
                    name.as_ptr().cast(),
                    name.len(),
                    LLVMValueAsMetadata(constant),
                );
            }
        }

        /// Adds text to the module's assembly.
        pub fn append_assembly(self, text: &[u8]) {
            unsafe { LLVMAppendModuleInlineAsm(self.0, text.as_ptr().cast(), text.len()) };
        }

        /// The global variable of that name.
        pub fn global(self, name: &str) -> Option<Global> {
            let name = CString::new(name).expect("our own names hold no NUL");
            let global = unsafe { LLVMGetNamedGlobal(self.0, name.as_ptr()) };
            (!global.is_null()).then_some(Global(global))
        }

        /// The function of that name.
        pub fn function(self, name: &str) -> Option<Function> {
            let name = CString::new(name).expect("our own names hold no NUL");
            let function = unsafe { LLVMGetNamedFunction(self.0, name.as_ptr()) };
            (!function.is_null()).then_some(Function(function))
        }

        /// Declares a function of one number, which for the optimiser changes something that the program can't see.
        pub fn declare_probe(self, name: &str) -> Function {
            Function(unsafe { unseen_shim_declare_probe(self.0, name.as_ptr().cast(), name.len()) })
        }

        /// Takes back of every function that it changes only what the program can't see.
        pub fn admit_stores(self) {
            unsafe { unseen_shim_admit_stores(self.0) };
        }

        /// Adds an internal, zero-initialised array of bytes.
        pub fn add_bytes(self, name: &str, size: u64, alignment: u32) -> Global {
            unsafe {
                let ty = LLVMArrayType2(LLVMInt8TypeInContext(self.context()), size);
                self.add_global(name, LLVMConstNull(ty), alignment)
            }
        }

        /// All of it, as bitcode.
        pub fn bitcode(self) -> Vec<u8> {
            unsafe {
                let buffer = llvm_sys::bit_writer::LLVMWriteBitcodeToMemoryBuffer(self.0);
                let (start, length) = (LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
                let bytes = std::slice::from_raw_parts(start.cast::<u8>(), length).to_vec();
                LLVMDisposeMemoryBuffer(buffer);
                bytes
            }
        }

        /// Adds an internal 32-bit variable.
        pub fn add_i32(self, name: &str, value: u32) -> Global {
            unsafe {
                let init = LLVMConstInt(LLVMInt32TypeInContext(self.context()), u64::from(value), 0);
                self.add_global(name, init, 4)
            }
        }

        /// Adds an internal constant struct.
        pub fn add_constant(self, name: &str, fields: &[Field]) -> Global {
            unsafe {
                let context = self.context();
                let mut values: Vec<_> = fields.iter().map(|f| f.constant(context)).collect();
                let init = LLVMConstStructInContext(context, values.as_mut_ptr(), values.len() as u32, 0);
                let global = self.add_global(name, init, 8);
                LLVMSetGlobalConstant(global.0, 1);
                global
            }
        }

        fn add_global(self, name: &str, init: LLVMValueRef, alignment: u32) -> Global {
            let name = CString::new(name).expect("our own names hold no NUL");
            unsafe {
                let global = LLVMAddGlobal(self.0, LLVMTypeOf(init), name.as_ptr());
                LLVMSetInitializer(global, init);
                LLVMSetLinkage(global, LLVMLinkage::LLVMInternalLinkage);
                LLVMSetAlignment(global, alignment);
                Global(global)
            }
        }

        /// Adds an internal constant of bytes, aligned for words.
        pub fn add_data(self, name: &str, bytes: &[u8]) -> Global {
            unsafe {
                let init = LLVMConstStringInContext2(self.context(), bytes.as_ptr().cast(), bytes.len(), 1);
                let global = self.add_global(name, init, 8);
                LLVMSetGlobalConstant(global.0, 1);
                global
            }
        }

        /// Adds an internal function that calls `hook` with `argument`.
        pub fn add_caller(self, name: &str, hook: &Hook, argument: Global) -> Function {
            let name = CString::new(name).expect("our own names hold no NUL");
            let symbol = CString::new(hook.symbol).expect("our own names hold no NUL");
            unsafe {
                let context = self.context();
                let hook_type = self.hook_type(hook);
                let mut callee = LLVMGetNamedFunction(self.0, symbol.as_ptr());
                if callee.is_null() {
                    callee = LLVMAddFunction(self.0, symbol.as_ptr(), hook_type);
                }
                let void = LLVMFunctionType(LLVMVoidTypeInContext(context), std::ptr::null_mut(), 0, 0);
                let function = LLVMAddFunction(self.0, name.as_ptr(), void);
                LLVMSetLinkage(function, LLVMLinkage::LLVMInternalLinkage);
                let builder = LLVMCreateBuilderInContext(context);
                LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, function, c"".as_ptr()));
                LLVMBuildCall2(builder, hook_type, callee, &mut argument.0.clone(), 1, c"".as_ptr());
                LLVMBuildRetVoid(builder);
                LLVMDisposeBuilder(builder);
                Function(function)
            }
        }

        /// Adds an internal function that calls a hook with `first` and with what it is called with itself. It is never inlined.
        pub fn add_forwarder(self, name: &str, hook: &Hook, first: Global) -> Function {
            let name = CString::new(name).expect("our own names hold no NUL");
            let callee = self.declare_hook(hook);
            unsafe {
                let context = self.context();
                let hook_type = self.hook_type(hook);
                let mut types = vec![std::ptr::null_mut(); LLVMCountParamTypes(hook_type) as usize];
                LLVMGetParamTypes(hook_type, types.as_mut_ptr());
                let rest = &mut types[1..];
                let ty = LLVMFunctionType(LLVMGetReturnType(hook_type), rest.as_mut_ptr(), rest.len() as u32, 0);
                let function = LLVMAddFunction(self.0, name.as_ptr(), ty);
                LLVMSetLinkage(function, LLVMLinkage::LLVMInternalLinkage);
                let mut arguments = vec![first.0; types.len()];
                LLVMGetParams(function, arguments[1..].as_mut_ptr());
                let builder = LLVMCreateBuilderInContext(context);
                LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, function, c"".as_ptr()));
                let count = arguments.len() as u32;
                LLVMBuildCall2(builder, hook_type, callee.0, arguments.as_mut_ptr(), count, c"".as_ptr());
                LLVMBuildRetVoid(builder);
                LLVMDisposeBuilder(builder);
                for attribute in ["noinline", "nounwind"] {
                    Function(function).add_attribute(attribute);
                }
                Function(function)
            }
        }

        pub(super) fn hook_type(self, hook: &Hook) -> LLVMTypeRef {
            unsafe {
                let context = self.context();
                let ty = |t: &HookType| match t {
                    HookType::Void => LLVMVoidTypeInContext(context),
                    HookType::Ptr => LLVMPointerTypeInContext(context, 0),
                    HookType::I64 => LLVMInt64TypeInContext(context),
                    HookType::I32 => LLVMInt32TypeInContext(context),
                };
                let mut params: Vec<_> = hook.params.iter().map(ty).collect();
                LLVMFunctionType(ty(&hook.result), params.as_mut_ptr(), params.len() as u32, 0)
            }
        }

        /// Runs `function` before the program's own constructors.
        pub fn add_constructor(self, function: Function) {
            unsafe { unseen_shim_append_ctor(self.0, function.0) };
        }

        /// Runs `function` when the module is unloaded or the program exits.
        pub fn add_destructor(self, function: Function) {
            unsafe { unseen_shim_append_dtor(self.0, function.0) };
        }

        pub(super) fn context(self) -> LLVMContextRef {
            unsafe { LLVMGetModuleContext(self.0) }
        }
    }

    /// Gives loops that call `probe` and nothing else a copy without it, to run once all their `counters` were set in this `epoch`.
    pub fn copy_loops(probe: Function, counters: Global, epoch: Global) {
        unsafe { unseen_shim_copy_loops(probe.0, counters.0, epoch.0) };
    }

    /// Removes the debug info of compile units that carry `marker` in their flags.
    pub fn strip_units(module: Module, marker: &str) {
        unsafe { unseen_shim_strip_units(module.0, marker.as_ptr().cast(), marker.len()) };
    }

    /// The version of the LLVM this process runs.
    pub fn version() -> String {
        let (mut major, mut minor, mut patch) = (0, 0, 0);
        unsafe { LLVMGetVersion(&mut major, &mut minor, &mut patch) };
        format!("{major}.{minor}.{patch}")
    }

    impl Global {
        /// Each thread has one of its own.
        pub fn set_thread_local(self) {
            unsafe { LLVMSetThreadLocal(self.0, 1) };
        }

        /// The functions whose instructions refer to it, also through constants.
        pub fn users(self) -> Vec<Function> {
            let mut functions = Vec::new();
            let mut values = vec![self.0];
            while let Some(value) = values.pop() {
                let first = unsafe { LLVMGetFirstUse(value) };
                for used in chain(first, |u| unsafe { LLVMGetNextUse(u) }) {
                    let user = unsafe { LLVMGetUser(used) };
                    if !unsafe { LLVMIsAInstruction(user) }.is_null() {
                        let block = unsafe { LLVMGetInstructionParent(user) };
                        functions.push(Function(unsafe { LLVMGetBasicBlockParent(block) }));
                    } else if !unsafe { LLVMIsAConstantExpr(user) }.is_null() {
                        values.push(user);
                    }
                }
            }
            functions
        }
    }

    impl Function {
        /// # Safety
        /// `raw` must be a valid function of this process's LLVM.
        pub unsafe fn from_raw(raw: LLVMValueRef) -> Function {
            Function(raw)
        }

        /// The module it is in.
        pub fn module(self) -> Module {
            Module(unsafe { LLVMGetGlobalParent(self.0) })
        }

        /// Gives it an attribute that only we know.
        pub fn add_own_attribute(self, name: &str) {
            unsafe {
                let context = LLVMGetTypeContext(LLVMTypeOf(self.0));
                let attribute =
                    LLVMCreateStringAttribute(context, name.as_ptr().cast(), name.len() as u32, c"".as_ptr(), 0);
                LLVMAddAttributeAtIndex(self.0, llvm_sys::LLVMAttributeFunctionIndex, attribute);
            }
        }

        /// The functions that call it, each once.
        pub fn callers(self) -> Vec<Function> {
            let mut functions = Global(self.0).users();
            let mut seen = rustc_hash::FxHashSet::default();
            functions.retain(|f| seen.insert(*f));
            functions
        }

        /// Removes it from the module; nothing may refer to it.
        pub fn delete(self) {
            unsafe { LLVMDeleteFunction(self.0) };
        }

        /// The linker's name.
        pub fn name(self) -> String {
            let mut len = 0;
            unsafe { text(LLVMGetValueName2(self.0, &mut len), len) }
        }

        /// Whether the module holds no code for it.
        pub fn is_declaration(self) -> bool {
            unsafe { LLVMIsDeclaration(self.0) != 0 }
        }

        /// Whether its code is only a copy for inlining.
        pub fn is_inline_copy(self) -> bool {
            unsafe { LLVMGetLinkage(self.0) == LLVMLinkage::LLVMAvailableExternallyLinkage }
        }

        /// Whether it is defined here, and code outside the module may refer to it by its name.
        pub fn is_visible(self) -> bool {
            use LLVMLinkage::*;
            let linkage = unsafe { LLVMGetLinkage(self.0) };
            let hidden = [LLVMInternalLinkage, LLVMPrivateLinkage, LLVMAvailableExternallyLinkage];
            !self.is_declaration() && !hidden.contains(&linkage)
        }

        /// Whether its source lets several translation units define it: `inline` functions, methods in a class, templates.
        pub fn is_defined_inline(self) -> bool {
            unsafe { self.has_attribute("inlinehint") || !LLVMGetComdat(self.0).is_null() }
        }

        fn intrinsic(self) -> u32 {
            unsafe { LLVMGetIntrinsicID(self.0) }
        }

        /// The intrinsic's name, without its types.
        pub fn intrinsic_name(self) -> Option<String> {
            let id = self.intrinsic();
            let mut len = 0;
            (id != 0).then(|| unsafe { text(LLVMIntrinsicGetName(id, &mut len), len) })
        }

        /// Whether it has the attribute of that name, as LLVM spells it.
        pub fn has_attribute(self, name: &str) -> bool {
            unsafe {
                let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
                !LLVMGetEnumAttributeAtIndex(self.0, llvm_sys::LLVMAttributeFunctionIndex, kind).is_null()
            }
        }

        /// Removes the attribute of that name.
        pub fn remove_attribute(self, name: &str) {
            unsafe {
                let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
                LLVMRemoveEnumAttributeAtIndex(self.0, llvm_sys::LLVMAttributeFunctionIndex, kind);
            }
        }

        /// Its blocks; the first is the entry.
        pub fn blocks(self) -> Vec<Block> {
            let first = unsafe { LLVMGetFirstBasicBlock(self.0) };
            chain(first, |b| unsafe { LLVMGetNextBasicBlock(b) }).map(Block).collect()
        }

        /// Its debug info.
        pub fn subprogram(self) -> Option<Subprogram> {
            let subprogram = unsafe { LLVMGetSubprogram(self.0) };
            (!subprogram.is_null()).then_some(Subprogram(subprogram))
        }

        /// Whether LLVM's verifier accepts it; prints what it finds to standard error.
        pub fn is_valid(self) -> bool {
            use llvm_sys::analysis::{LLVMVerifierFailureAction::LLVMPrintMessageAction, LLVMVerifyFunction};
            unsafe { LLVMVerifyFunction(self.0, LLVMPrintMessageAction) == 0 }
        }
    }

    impl Subprogram {
        /// The name in the source.
        pub fn name(self) -> String {
            let mut len = 0;
            unsafe { text(unseen_shim_subprogram_name(self.0, &mut len).cast(), len) }
        }

        /// The line of the definition.
        pub fn line(self) -> u32 {
            unsafe { LLVMDISubprogramGetLine(self.0) }
        }

        /// The file of the definition.
        pub fn file(self) -> Option<File> {
            file_of(self.0)
        }
    }

    impl File {
        /// Directory and name joined.
        pub fn path(self) -> String {
            let mut len = 0;
            let name = unsafe { text(LLVMDIFileGetFilename(self.0, &mut len), len as usize) };
            if name.starts_with('/') {
                return name;
            }
            let directory = unsafe { text(LLVMDIFileGetDirectory(self.0, &mut len), len as usize) };
            if directory.is_empty() { name } else { format!("{directory}/{name}") }
        }
    }

    impl Location {
        /// The line; 0 for code that belongs to no line.
        pub fn line(self) -> u32 {
            unsafe { LLVMDILocationGetLine(self.0) }
        }

        /// The column; 0 where unknown.
        pub fn column(self) -> u32 {
            unsafe { LLVMDILocationGetColumn(self.0) }
        }

        /// The file.
        pub fn file(self) -> Option<File> {
            unsafe { file_of(LLVMDILocationGetScope(self.0)) }
        }
    }

    /// The kind of metadata that marks what sanitizers add and leave alone.
    fn unchecked(context: LLVMContextRef) -> u32 {
        const NAME: &str = "nosanitize";
        unsafe { LLVMGetMDKindIDInContext(context, NAME.as_ptr().cast(), NAME.len() as u32) }
    }

    fn file_of(scope: LLVMMetadataRef) -> Option<File> {
        let file = unsafe { LLVMDIScopeGetFile(scope) };
        (!file.is_null()).then_some(File(file))
    }

    impl Block {
        /// Its instructions.
        pub fn instructions(self) -> impl Iterator<Item = Inst> {
            let first = unsafe { LLVMGetFirstInstruction(self.0) };
            chain(first, |i| unsafe { LLVMGetNextInstruction(i) }).map(Inst)
        }

        /// Its last instruction.
        pub fn terminator(self) -> Inst {
            Inst(unsafe { LLVMGetBasicBlockTerminator(self.0) })
        }
    }

    pub(super) unsafe fn operands(node: LLVMValueRef) -> Vec<LLVMValueRef> {
        unsafe {
            let mut list = vec![std::ptr::null_mut(); LLVMGetMDNodeNumOperands(node) as usize];
            LLVMGetMDNodeOperands(node, list.as_mut_ptr());
            list
        }
    }

    impl Inst {
        /// The operation.
        pub fn opcode(self) -> Opcode {
            unsafe { LLVMGetInstructionOpcode(self.0) }
        }

        /// Where it comes from.
        pub fn location(self) -> Option<Location> {
            let location = unsafe { LLVMInstructionGetDebugLoc(self.0) };
            (!location.is_null()).then_some(Location(location))
        }

        /// Whether it is a check that the compiler added (UBSan and its kin), not the program's.
        pub fn is_added_check(self) -> bool {
            unsafe { !LLVMGetMetadata(self.0, unchecked(LLVMGetTypeContext(LLVMTypeOf(self.0)))).is_null() }
        }

        /// How many values it takes.
        pub fn operand_count(self) -> u32 {
            unsafe { LLVMGetNumOperands(self.0) as u32 }
        }

        /// Of a terminator: where it may go.
        pub fn successors(self) -> Vec<Block> {
            let count = unsafe { LLVMGetNumSuccessors(self.0) };
            (0..count).map(|i| Block(unsafe { LLVMGetSuccessor(self.0, i) })).collect()
        }

        /// Of a switch: the values of its successors behind the first, which is the default. Wider values than 64
        /// bits are cut.
        pub fn case_values(self) -> Vec<i64> {
            let count = unsafe { LLVMGetNumSuccessors(self.0) };
            (1..count)
                .map(|i| unsafe {
                    let value = LLVMGetSwitchCaseValue(self.0, i);
                    LLVMConstIntGetSExtValue(value)
                })
                .collect()
        }

        /// Of a call, invoke or callbr: what it calls.
        pub fn callee(self) -> Callee {
            unsafe {
                let value = LLVMGetCalledValue(self.0);
                if !LLVMIsAFunction(value).is_null() {
                    Callee::Direct(Function(value))
                } else if !LLVMIsAInlineAsm(value).is_null() {
                    Callee::Assembly
                } else {
                    Callee::Indirect
                }
            }
        }

        /// Of a call: whether its own attributes, not its callee's, include the one of that name.
        pub fn call_has_attribute(self, name: &str) -> bool {
            unsafe {
                let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
                !LLVMGetCallSiteEnumAttribute(self.0, llvm_sys::LLVMAttributeFunctionIndex, kind).is_null()
            }
        }

        /// Calls `probe` with a number before this instruction, at its source location. If there is an `inline_cost`, the
        /// call counts as that where it is decided whether to inline the function.
        pub fn call_probe_before(self, probe: Function, number: u32, inline_cost: Option<&str>) {
            unsafe {
                let context = LLVMGetTypeContext(LLVMTypeOf(probe.0));
                let builder = LLVMCreateBuilderInContext(context);
                LLVMPositionBuilderBefore(builder, self.0);
                let mut number = LLVMConstInt(LLVMInt32TypeInContext(context), u64::from(number), 0);
                let ty = LLVMGlobalGetValueType(probe.0);
                let call = LLVMBuildCall2(builder, ty, probe.0, &mut number, 1, c"".as_ptr());
                LLVMInstructionSetDebugLoc(call, LLVMInstructionGetDebugLoc(self.0));
                if let Some(cost) = inline_cost {
                    let (name, size) = ("call-inline-cost", cost.len() as u32);
                    let cost = cost.as_ptr().cast();
                    let cost = LLVMCreateStringAttribute(context, name.as_ptr().cast(), name.len() as u32, cost, size);
                    LLVMAddCallSiteAttribute(call, llvm_sys::LLVMAttributeFunctionIndex, cost);
                }
                LLVMDisposeBuilder(builder);
            }
        }

        /// Whether it is a call of that function, with a number that is known.
        pub fn number_called_with(self, function: Function) -> Option<u32> {
            unsafe {
                if LLVMIsACallInst(self.0).is_null() || LLVMGetCalledValue(self.0) != function.0 {
                    return None;
                }
                let number = LLVMGetOperand(self.0, 0);
                (!LLVMIsAConstantInt(number).is_null()).then(|| LLVMConstIntGetZExtValue(number) as u32)
            }
        }

        /// Whether it calls anything but an intrinsic.
        pub fn calls(self) -> bool {
            let call = matches!(self.opcode(), Opcode::LLVMCall | Opcode::LLVMInvoke | Opcode::LLVMCallBr);
            call && !matches!(self.callee(), Callee::Direct(f) if f.intrinsic() != 0)
        }

        /// Removes it.
        pub fn erase(self) {
            unsafe { LLVMInstructionEraseFromParent(self.0) };
        }

        /// Stores the byte 1 to `count` elements of `array` from `first` on before this instruction, at its source location; `count` is 1,
        /// 2 or 4. Volatile: what is set is set at once, whatever becomes of the process.
        pub fn store_ones_before(self, array: Global, first: u32, count: u32) {
            unsafe {
                let context = LLVMGetTypeContext(LLVMTypeOf(array.0));
                let builder = LLVMCreateBuilderInContext(context);
                LLVMPositionBuilderBefore(builder, self.0);
                let mut offset = LLVMConstInt(LLVMInt64TypeInContext(context), u64::from(first), 0);
                let address = LLVMConstInBoundsGEP2(LLVMInt8TypeInContext(context), array.0, &mut offset, 1);
                let ones = LLVMConstInt(LLVMIntTypeInContext(context, 8 * count), 0x0101_0101 >> (32 - 8 * count), 0);
                let store = LLVMBuildStore(builder, ones, address);
                LLVMSetAlignment(store, 1);
                LLVMSetVolatile(store, 1);
                // Sanitizers may run after us, and threads that set the same byte to 1 would be a race to report.
                let nothing = LLVMMDNodeInContext2(context, std::ptr::null_mut(), 0);
                LLVMSetMetadata(store, unchecked(context), LLVMMetadataAsValue(context, nothing));
                LLVMInstructionSetDebugLoc(store, LLVMInstructionGetDebugLoc(self.0));
                LLVMDisposeBuilder(builder);
            }
        }

        /// Of a terminator: puts a block of its own on the critical edge to a successor. `None` where that can't be.
        pub fn split_edge(self, successor: usize) -> Option<Block> {
            let block = unsafe { unseen_shim_split_edge(self.0, successor as u32) };
            (!block.is_null()).then_some(Block(block))
        }
    }

    /// A field of a constant struct.
    pub enum Field {
        /// A 32-bit number.
        I32(u32),
        /// A 64-bit number.
        I64(u64),
        /// Bytes.
        Bytes(Vec<u8>),
        /// The address of a global, or null.
        Address(Option<Global>),
    }

    impl Field {
        unsafe fn constant(&self, context: LLVMContextRef) -> LLVMValueRef {
            unsafe {
                match self {
                    Field::I32(v) => LLVMConstInt(LLVMInt32TypeInContext(context), u64::from(*v), 0),
                    Field::I64(v) => LLVMConstInt(LLVMInt64TypeInContext(context), *v, 0),
                    Field::Bytes(b) => LLVMConstStringInContext2(context, b.as_ptr().cast(), b.len(), 1),
                    Field::Address(Some(global)) => global.0,
                    Field::Address(None) => LLVMConstNull(LLVMPointerTypeInContext(context, 0)),
                }
            }
        }
    }

    /// LLVM's linked lists.
    pub(super) fn chain<T>(first: *mut T, next: impl Fn(*mut T) -> *mut T) -> impl Iterator<Item = *mut T> {
        let present = |item: *mut T| (!item.is_null()).then_some(item);
        std::iter::successors(present(first), move |item| present(next(*item)))
    }

    /// A copy of LLVM's text; bytes that are no UTF-8 are replaced.
    pub(super) unsafe fn text(data: *const c_char, len: usize) -> String {
        if data.is_null() {
            return String::new();
        }
        unsafe { String::from_utf8_lossy(std::slice::from_raw_parts(data.cast(), len)).into_owned() }
    }
}
pub use views::{Field, copy_loops, strip_units, version};
