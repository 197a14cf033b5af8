//! From the module to plain data.

use super::body::*;
use super::flow::{Flow, Held, Place, Site};
use super::tags::Tags;
use super::targets::{Signature, Slot, Targets};
use super::{exceptions, intrinsics, slices};
use crate::analysis::choice::is_ours;
use crate::analysis::sources::Sources;
use crate::llvm::memory::{Kind, Layout, Shape, Type, Value};
use crate::llvm::{Block as LlvmBlock, Function as LlvmFunction, Inst as LlvmInst, Module, Opcode};
use crate::options::{Exposed, Options};
use rustc_hash::FxHashMap as HashMap;
use unseen_abi::deps::{Param, Reason};
use unseen_abi::manifest::Scope;
use unseen_abi::models::{self, Effect};

/// Name of the global that stands for what the C library keeps for itself.
const FOREIGN: &str = "(library)";
/// Name of the global that stands for what is written to files and streams.
const OUTPUT: &str = "(output)";
/// Functions with which code is registered for the end of the process.
const REGISTRARS: [&str; 4] = ["atexit", "__cxa_atexit", "on_exit", "at_quick_exit"];
/// What is in the names of functions that load code.
const LOADERS: [&str; 4] = ["dlopen", "dlmopen", "module_open", "LoadObject"];

/// What extraction knows of the module.
pub struct Extractor<'a> {
    pub layout: Layout,
    functions: HashMap<LlvmFunction, u32>,
    pub(super) globals: HashMap<Value, u32>,
    pub targets: Targets,
    sources: &'a mut Sources,
    forges: bool,
    pub(super) tags: Tags,
    pub(super) flow: Flow,
    /// Functions in initial values, in which struct and where.
    pub(super) initial: Vec<(Type, u64, u32)>,
}

/// The program of a module. Functions are numbered as in `functions`; the last globals stand for output and the library. Without `main`, or
/// where the module is not the whole program, the program is open.
pub fn extract(module: Module, functions: &[LlvmFunction], options: &Options, sources: &mut Sources) -> Program {
    let variables = module.variables();
    let mut extractor = Extractor {
        layout: module.layout(),
        functions: functions.iter().enumerate().map(|(i, f)| (*f, i as u32)).collect(),
        globals: variables.iter().enumerate().map(|(i, g)| (*g, i as u32)).collect(),
        targets: Targets::default(),
        sources,
        forges: false,
        tags: Tags::default(),
        flow: Flow::default(),
        initial: Vec::new(),
    };
    let main = functions.iter().any(|f| !f.is_declaration() && f.name() == "main");
    let open = options.scope != Scope::Program || !main;
    let at_exit = open
        || functions.iter().any(|f| REGISTRARS.contains(&f.name().as_str()))
        || variables.iter().any(|v| v.name() == "llvm.global_dtors");
    let loads = || functions.iter().any(|f| f.is_declaration() && LOADERS.iter().any(|name| f.name().contains(name)));
    let is_exposed = options.exposed.is_some_and(|how| how == Exposed::Native || loads());
    let is_called = |f: &LlvmFunction| {
        let name = f.name();
        // Functions of the library's that the program has put its own in the place of are called as the library's are.
        is_exposed && f.is_visible() && name != "main" && !is_ours(&name) && models::model(&name).is_none()
    };
    let visible: Vec<u32> = (0..).zip(functions).filter(|(_, f)| is_called(f)).map(|(number, _)| number).collect();
    let is_set = |v: &Value| is_exposed && v.is_visible() && !v.is_constant() && !is_ours(&v.name());
    let exposed = !visible.is_empty() || variables.iter().any(is_set);
    let mut program = Program { open, visible, exposed, at_exit, ..Program::default() };
    for variable in &variables {
        let global = extractor.global(*variable);
        program.globals.push(global);
    }
    program.globals.push(Global { name: OUTPUT.into(), ..Global::default() });
    program.globals.push(Global { name: FOREIGN.into(), ..Global::default() });
    for function in functions {
        let function = extractor.function(*function);
        program.functions.push(function);
    }
    for (index, function) in functions.iter().enumerate() {
        extractor.targets.declare(index as u32, Signature::of(function.signature()));
    }
    program.visible.iter().for_each(|function| extractor.targets.take(*function));
    program.forges = extractor.forges;
    extractor.place_initial();
    extractor.targets.resolve(&mut program, &extractor.flow);
    program
}

impl Extractor<'_> {
    fn global(&mut self, variable: Value) -> Global {
        let mut global = Global {
            name: variable.name(),
            size: 0,
            thread_local: variable.is_thread_local(),
            constant: false,
            pointers: Vec::new(),
        };
        if let Some(initial) = variable.initial() {
            global.size = self.layout.size(variable.held_type());
            global.constant = variable.is_constant();
            self.pointers(initial, 0, &mut global.pointers);
            self.targets.look_at_table(&global, is_rustcs_table(variable), initial.ty(), self.layout);
            if global.pointers.iter().any(|(_, p)| matches!(p, Operand::Function(_))) {
                self.initial(initial, None, Some(Place::Global(self.globals[&variable])));
            }
            if !global.constant {
                global.pointers.clear();
            }
        }
        global
    }

    /// The pointers in a constant.
    fn pointers(&mut self, value: Value, at: u64, out: &mut Vec<(u64, Operand)>) {
        match value.kind() {
            Kind::Plain | Kind::Number(_) => {}
            Kind::Aggregate => {
                let ty = value.ty();
                let vector = ty.shape() == Shape::Vector;
                let count = if vector { value.operands().len() as u64 } else { ty.part_count() };
                for i in 0..count as u32 {
                    let part = value.part(i);
                    let offset = match ty.shape() {
                        Shape::Struct => self.layout.offset(ty, i),
                        _ => u64::from(i) * self.layout.size(part.ty()),
                    };
                    self.pointers(part, at + offset, out);
                }
            }
            _ => match self.constant(value) {
                Operand::Number(_) => {}
                operand => out.push((at, operand)),
            },
        }
    }

    /// A constant as an operand.
    pub(super) fn constant(&mut self, value: Value) -> Operand {
        match value.kind() {
            Kind::Variable(variable) => Operand::Global { global: self.globals[&variable], at: 0 },
            Kind::Function(function) => match self.functions.get(&function) {
                Some(index) => Operand::Function(*index),
                None => Operand::Number(0),
            },
            Kind::Alias(aliasee) => self.constant(aliasee),
            Kind::Number(n) => Operand::Number(n),
            Kind::Expression(Opcode::LLVMGetElementPtr) => {
                let offset = value.offset(self.layout);
                match self.constant(offset.base) {
                    Operand::Global { global, at } => Operand::Global { global, at: at.wrapping_add(offset.at) },
                    other => other,
                }
            }
            Kind::Expression(
                Opcode::LLVMBitCast
                | Opcode::LLVMAddrSpaceCast
                | Opcode::LLVMPtrToInt
                | Opcode::LLVMIntToPtr
                | Opcode::LLVMTrunc,
            ) => self.constant(value.operands()[0]),
            Kind::Expression(_) => Operand::Unknown(Reason::IntegerToPointer),
            _ => Operand::Number(0),
        }
    }

    fn function(&mut self, function: LlvmFunction) -> Function {
        let (types, _, variadic) = function.signature();
        let params = types.iter().enumerate().map(|(i, ty)| Param {
            size: match ty.shape() {
                Shape::Struct | Shape::Array | Shape::Vector | Shape::Other => 0,
                _ => self.layout.stored_size(*ty),
            },
            pointer: ty.shape() == Shape::Pointer,
            by_value: function.param_has_attribute(i as u32, "byval"),
            ..Param::default()
        });
        let name = function.name();
        let model = external_model(function);
        let mut out = Function {
            params: params.collect(),
            noalias: (0..types.len() as u32).map(|i| function.param_has_attribute(i, "noalias")).collect(),
            variadic,
            defined: !function.is_declaration() && model.is_none(),
            slices: Vec::new(),
            body: None,
            promise: promise(function),
            panics: is_panic(&name, function),
            noreturn: function.has_attribute("noreturn") || model.is_some_and(|e| e.contains(&Effect::Ends)),
            name,
        };
        if out.defined && !out.panics {
            out.slices = slices::find(function, types.len() as u32);
            out.body = Some(self.body(function));
        } else {
            self.flow.held.push(Vec::new());
        }
        out
    }

    fn body(&mut self, function: LlvmFunction) -> Body {
        let blocks = function.blocks();
        let mut draft = Draft {
            body: Body::default(),
            numbers: HashMap::default(),
            blocks: blocks.iter().enumerate().map(|(i, b)| (*b, i as u32)).collect(),
            later: Vec::new(),
            entry: blocks[0],
            place: None,
            held: Vec::new(),
        };
        for block in &blocks {
            let start = draft.body.insts.len() as u32;
            let mut ended = false;
            for inst in block.instructions() {
                draft.place = self.sources.place(inst);
                ended |= self.inst(inst, &mut draft);
                if ended {
                    break;
                }
            }
            let (next, unwind) =
                if ended { (Vec::new(), self.unwind(*block, &draft)) } else { self.exits(*block, &draft) };
            draft.body.blocks.push(Block { start, end: draft.body.insts.len() as u32, next, unwind });
        }
        for (index, values) in std::mem::take(&mut draft.later) {
            let operands = values.iter().map(|v| self.operand(*v, &draft)).collect();
            draft.body.insts[index as usize].op = Op::Copy(operands);
        }
        draft.held.shrink_to_fit();
        self.flow.held.push(draft.held);
        draft.body.insts.shrink_to_fit();
        draft.body.blocks.shrink_to_fit();
        draft.body
    }

    fn exits(&self, block: LlvmBlock, draft: &Draft) -> (Vec<u32>, Option<u32>) {
        let terminator = block.terminator();
        let mut next: Vec<u32> = terminator.successors().iter().map(|b| draft.blocks[b]).collect();
        let unwind = self.unwind(block, draft);
        if unwind.is_some() {
            next.pop();
        }
        (next, unwind)
    }

    fn unwind(&self, block: LlvmBlock, draft: &Draft) -> Option<u32> {
        let terminator = block.terminator();
        (terminator.opcode() == Opcode::LLVMInvoke).then(|| draft.blocks[&terminator.unwinds_to()])
    }

    /// A value that is used otherwise than as the address of a load or store.
    pub fn operand(&mut self, value: Value, draft: &Draft) -> Operand {
        if let Kind::Variable(variable) = value.kind() {
            self.flow.leaked.insert(self.globals[&variable]);
        }
        self.address(value, draft)
    }

    fn address(&mut self, value: Value, draft: &Draft) -> Operand {
        match value.kind() {
            Kind::Instruction(inst) => match draft.numbers.get(&inst) {
                Some(index) => Operand::Inst(*index),
                // No result that matters, or dead code.
                None => Operand::Number(0),
            },
            Kind::Param(i) => Operand::Param(i),
            Kind::Aggregate => {
                // A constant struct or vector as a value: at most one kind of pointer is expected in it.
                let mut pointers = Vec::new();
                self.pointers(value, 0, &mut pointers);
                match pointers[..] {
                    [] => Operand::Number(0),
                    [(_, one)] => self.taken(one),
                    _ => {
                        pointers.iter().for_each(|(_, p)| {
                            self.taken(*p);
                        });
                        if pointers.iter().all(|(_, p)| matches!(p, Operand::Function(_))) {
                            Operand::Number(0)
                        } else {
                            Operand::Unknown(Reason::Unmodelled)
                        }
                    }
                }
            }
            _ => {
                let constant = self.constant(value);
                self.taken(constant)
            }
        }
    }

    /// An address of a function that is used as a value may be called by anyone.
    fn taken(&mut self, operand: Operand) -> Operand {
        if let Operand::Function(f) = operand {
            self.targets.take(f);
        }
        operand
    }

    pub fn operands(&mut self, values: &[Value], draft: &Draft) -> Vec<Operand> {
        values.iter().map(|v| self.operand(*v, draft)).collect()
    }

    /// Translates an instruction. Returns whether control ends in it.
    fn inst(&mut self, inst: LlvmInst, draft: &mut Draft) -> bool {
        use Opcode::*;
        let value = inst.value();
        let op = match inst.opcode() {
            LLVMAlloca => Op::Alloca,
            LLVMGetElementPtr => return self.offset(inst, draft),
            LLVMPHI => {
                // What comes around a loop has no number yet.
                let index = draft.push(Op::Copy(Vec::new()), Some(inst));
                draft.later.push((index, inst.incoming()));
                return false;
            }
            LLVMSelect => {
                let operands = self.operands(&value.operands(), draft);
                draft.push(Op::Use(operands[..1].to_vec()), None);
                Op::Copy(operands[1..].to_vec())
            }
            LLVMBitCast | LLVMAddrSpaceCast | LLVMPtrToInt | LLVMZExt | LLVMSExt | LLVMTrunc | LLVMFreeze
            | LLVMExtractValue | LLVMInsertValue => Op::Copy(self.operands(&value.operands(), draft)),
            LLVMIntToPtr => {
                self.forges = true;
                Op::Forge(self.operand(value.operands()[0], draft))
            }
            LLVMExtractElement => Op::Copy(self.operands(&value.operands()[..1], draft)),
            LLVMInsertElement => Op::Copy(self.operands(&value.operands()[..2], draft)),
            LLVMShuffleVector => Op::Copy(self.operands(&value.operands()[..2], draft)),
            LLVMLoad => {
                let from = value.operands()[0];
                let is_data = value.ty().shape() == Shape::Pointer && self.note_held(inst, from, draft);
                let address = self.address(from, draft);
                let mut load = self.load(address, value.ty(), inst.is_volatile());
                if let Op::Load { data, .. } = &mut load {
                    *data = is_data;
                }
                load
            }
            LLVMStore => {
                let (stored, to) = (value.operands()[0], value.operands()[1]);
                let size = self.layout.stored_size(stored.ty());
                let is_data = size == 8 && self.note_held(inst, to, draft);
                if is_data {
                    draft.held.push((draft.body.insts.len() as u32, Held::Data));
                }
                let (address, value) = (self.address(to, draft), self.operand(stored, draft));
                if let (Operand::Inst(to), true) = (address, stored.ty().shape() != Shape::Pointer && size == 8) {
                    draft.body.mixed.push(to);
                }
                Op::Store { address, value, size, maybe: false, volatile: inst.is_volatile() }
            }
            LLVMAtomicRMW | LLVMAtomicCmpXchg => return self.exchange(inst, draft),
            LLVMCall | LLVMInvoke => return self.call(inst, draft),
            LLVMRet => {
                let operands = self.operands(&value.operands(), draft);
                Op::Return(operands.first().copied().unwrap_or(Operand::Number(0)))
            }
            LLVMBr | LLVMSwitch | LLVMIndirectBr => {
                // The first operand of a conditional one is what it looks at; the others are blocks.
                let conditional = value.operands().len() > 1;
                let looked_at: Vec<Value> = value.operands().into_iter().take(usize::from(conditional)).collect();
                Op::Use(self.operands(&looked_at, draft))
            }
            LLVMLandingPad => Op::Copy(vec![exceptions::caught(inst)]),
            LLVMUnreachable | LLVMFence => return false,
            LLVMResume => {
                draft.push(Op::Use(Vec::new()), None);
                return false;
            }
            LLVMVAArg => Op::Opaque(Reason::Unmodelled, "va_arg".into()),
            LLVMCallBr => Op::Opaque(Reason::Assembly, String::new()),
            LLVMCatchPad | LLVMCleanupPad | LLVMCatchSwitch | LLVMCatchRet | LLVMCleanupRet => {
                Op::Opaque(Reason::Unmodelled, "funclet".into())
            }
            opcode => {
                let operands = self.operands(&value.operands(), draft);
                match near(opcode, &operands) {
                    Some(of) if self.is_wide(value.ty()) => Op::Near(of),
                    _ => Op::Compute(operands),
                }
            }
        };
        draft.push(op, Some(inst));
        false
    }

    fn offset(&mut self, inst: LlvmInst, draft: &mut Draft) -> bool {
        let offset = inst.value().offset(self.layout);
        let base = self.operand(offset.base, draft);
        let mut stride = 0;
        for (_, size) in &offset.variable {
            stride = gcd(stride, *size);
        }
        let indices: Vec<Value> = offset.variable.iter().map(|(index, _)| *index).collect();
        if !indices.is_empty() {
            let used = self.operands(&indices, draft);
            draft.push(Op::Use(used), None);
        }
        // As wide as an address, a distance may lead anywhere.
        let far = indices.iter().any(|index| self.is_wide(index.ty()));
        if stride != 1 || !far || inst.value().stays_inside() {
            draft.push(Op::Offset { base, at: offset.at, stride }, Some(inst));
            return false;
        }
        // Any number of bytes further, inside or not: what is there may be no address of an object before, as with pointers whose bits
        // were rotated. Who follows the pointer that was stored finds nothing.
        let near = draft.push(Op::Offset { base, at: offset.at, stride }, None);
        let number = draft.push(Op::Compute(vec![Operand::Inst(near)]), None);
        let made = draft.push(Op::Forge(Operand::Inst(number)), None);
        draft.push(Op::Copy(vec![Operand::Inst(near), Operand::Inst(made)]), Some(inst));
        false
    }

    pub fn load(&self, address: Operand, ty: Type, volatile: bool) -> Op {
        let (mut parts, mut wide) = (Vec::new(), false);
        self.parts(ty, 0, &mut parts, &mut wide);
        let kind = match ty.shape() {
            Shape::Pointer => Loaded::Pointer,
            Shape::Integer(64) => Loaded::Integer,
            _ if wide => Loaded::Wide,
            _ => Loaded::Number,
        };
        Op::Load { address, size: self.layout.stored_size(ty), parts, kind, volatile, data: false }
    }

    /// The scalars in a type, and whether some may be pointers.
    fn parts(&self, ty: Type, at: u64, parts: &mut Parts, pointer: &mut bool) {
        match ty.shape() {
            Shape::Struct => {
                for i in 0..ty.part_count() as u32 {
                    self.parts(ty.part(i), at + self.layout.offset(ty, i), parts, pointer);
                }
            }
            Shape::Array => {
                let size = self.layout.size(ty.part(0));
                for i in 0..ty.part_count().min(64) {
                    self.parts(ty.part(0), at + i * size, parts, pointer);
                }
            }
            _ => {
                *pointer |= self.is_wide(ty);
                let size = self.layout.stored_size(ty).max(1);
                parts.extend((0..size).step_by(8).map(|i| (at + i) as u32));
            }
        }
    }

    /// Whether a value of the type may hold a pointer.
    pub fn is_wide(&self, ty: Type) -> bool {
        match ty.shape() {
            Shape::Integer(bits) => bits >= 64,
            Shape::Float | Shape::Void => false,
            Shape::Pointer | Shape::Vector | Shape::Array | Shape::Struct | Shape::Other => true,
        }
    }

    /// An atomic exchange: reads, uses what it is given, and perhaps writes.
    fn exchange(&mut self, inst: LlvmInst, draft: &mut Draft) -> bool {
        let operands = inst.value().operands();
        let address = self.operand(operands[0], draft);
        let given = self.operands(&operands[1..], draft);
        let size = self.layout.stored_size(operands[1].ty());
        let volatile = inst.is_volatile();
        let load = self.load(address, operands[1].ty(), volatile);
        let loaded = draft.push(load, None);
        draft.push(Op::Use(given.clone()), None);
        let moved = draft.push(Op::Near(Operand::Inst(loaded)), None);
        for value in given.into_iter().chain(inst.stores_computed().then_some(Operand::Inst(moved))) {
            draft.push(Op::Store { address, value, size, maybe: true, volatile }, None);
        }
        draft.push(Op::Copy(vec![Operand::Inst(loaded)]), Some(inst));
        false
    }

    fn call(&mut self, inst: LlvmInst, draft: &mut Draft) -> bool {
        let arguments = inst.arguments();
        let mut called = inst.called();
        while let Kind::Alias(aliasee) = called.kind() {
            called = aliasee;
        }
        if let Kind::Function(function) = called.kind() {
            if let Some(name) = function.intrinsic_name() {
                return intrinsics::translate(self, &name, inst, &arguments, draft);
            }
            let args = self.passed(inst, &arguments, draft);
            let Some(&index) = self.functions.get(&function) else {
                draft.push(Op::Opaque(Reason::External, function.name()), Some(inst));
                return false;
            };
            let effects = external_model(function);
            if exceptions::throws_older(function, inst, draft.entry) {
                draft.push(Op::Opaque(Reason::Exception, String::new()), None);
            }
            if effects.is_some_and(|e| e.contains(&Effect::ReturnsTwice)) {
                // What is certainly written when it returns first is so when it returns again.
                draft.body.jumps_back = true;
            } else if function.has_attribute("returns_twice") {
                draft.push(Op::Opaque(Reason::Setjmp, String::new()), None);
            }
            for effect in effects.unwrap_or_default() {
                if let Effect::Calls(pointer, passed) = effect {
                    self.callback(args.get(usize::from(*pointer)).copied(), passed, &args, draft);
                }
            }
            if effects.is_some_and(|effects| may_read_wide(effects, &arguments)) {
                draft.push(Op::Opaque(Reason::Unmodelled, "a format that may ask for wide texts".into()), Some(inst));
            }
            let ignored = !inst.value().is_used();
            draft.push(Op::Call { callee: Callee::Function(index), args, maybe: false, ignored }, Some(inst));
            return false;
        }
        if matches!(inst.callee(), crate::llvm::Callee::Assembly) {
            let args = self.operands(&arguments, draft);
            if inst.assembly_touches_memory() {
                draft.push(Op::Opaque(Reason::Assembly, String::new()), None);
            }
            draft.push(Op::Compute(args), Some(inst));
            return false;
        }
        let args = self.passed(inst, &arguments, draft);
        let pointer = self.operand(called, draft);
        let callee = match pointer {
            Operand::Function(f) => Callee::Function(f),
            _ => {
                let slot = self.slot(called);
                Callee::Group(self.targets.group(Signature::of(inst.called_signature()), slot))
            }
        };
        draft.push(Op::Use(vec![pointer]), None);
        let through_pointer = matches!(callee, Callee::Group(_));
        let inst = draft.push(Op::Call { callee, args, maybe: false, ignored: false }, Some(inst));
        if through_pointer {
            let function = self.flow.held.len() as u32;
            self.flow.sites.push(Site { function, inst, pointer });
        }
        false
    }

    /// What a call passes. What is passed by value on the stack is copied there first.
    fn passed(&mut self, inst: LlvmInst, arguments: &[Value], draft: &mut Draft) -> Vec<Operand> {
        let mut args = self.operands(arguments, draft);
        for (number, arg) in (0..).zip(&mut args) {
            if let Some(size) = inst.copied(number, self.layout) {
                let to = Operand::Inst(draft.push(Op::Alloca, None));
                draft.push(Op::CopyBytes { to, from: *arg, length: Length::Bytes(size) }, None);
                *arg = to;
            }
        }
        args
    }

    /// A function of the library calls one of the program's.
    fn callback(&mut self, pointer: Option<Operand>, passed: &[u8], args: &[Operand], draft: &mut Draft) {
        if let Some(Operand::Number(_)) = pointer {
            return;
        }
        let mut given = Vec::new();
        for arg in passed {
            let base = args.get(usize::from(*arg)).copied().unwrap_or(Operand::Number(0));
            let index = draft.push(Op::Offset { base, at: 0, stride: 1 }, None);
            given.push(Operand::Inst(index));
        }
        let callee = match pointer {
            Some(Operand::Function(f)) => Callee::Function(f),
            _ => Callee::Group(self.targets.group(Signature::pointers(passed.len()), Slot::Anywhere)),
        };
        draft.push(Op::Call { callee, args: given, maybe: true, ignored: false }, None);
    }
}

/// A body being made.
pub struct Draft {
    pub(super) body: Body,
    numbers: HashMap<LlvmInst, u32>,
    blocks: HashMap<LlvmBlock, u32>,
    /// Phis, to be filled when everything has its number.
    later: Vec<(u32, Vec<Value>)>,
    entry: LlvmBlock,
    place: Option<unseen_abi::manifest::Place>,
    /// What the source says that loads and stores access.
    pub(super) held: Vec<(u32, Held)>,
}

impl Draft {
    /// Adds an instruction; `inst` is whose result it is.
    pub fn push(&mut self, op: Op, inst: Option<LlvmInst>) -> u32 {
        let index = self.body.insts.len() as u32;
        self.body.insts.push(Inst { op, place: self.place });
        if let Some(inst) = inst {
            self.numbers.insert(inst, index);
        }
        index
    }
}

pub(super) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The operand that an operation with a constant changes only a little, as tags in the low bits of a pointer are put in and
/// taken out.
fn near(opcode: Opcode, operands: &[Operand]) -> Option<Operand> {
    const LOW: i64 = 1 << 16;
    let (of, constant) = match *operands {
        [of, Operand::Number(n)] | [Operand::Number(n), of] => (of, n),
        _ => return None,
    };
    let little = match opcode {
        Opcode::LLVMAnd => (-LOW..0).contains(&constant),
        Opcode::LLVMOr | Opcode::LLVMXor => (0..LOW).contains(&constant),
        Opcode::LLVMAdd => true,
        Opcode::LLVMSub => of == operands[0],
        _ => false,
    };
    little.then_some(of)
}

/// The model of a function of the library's, also where a header has a copy of its code.
fn external_model(function: LlvmFunction) -> Option<&'static [Effect]> {
    let external = function.is_declaration() || function.is_inline_copy();
    if external { models::model(&function.name()) } else { None }
}

/// Whether a function prints by a format that is not known, or asks for texts of wide characters: the model has those of bytes alone.
fn may_read_wide(effects: &[Effect], arguments: &[Value]) -> bool {
    if !effects.contains(&Effect::ReadUnnamed) {
        return false;
    }
    let format = effects.iter().find_map(|effect| match effect {
        Effect::Read(i, models::Length::Text) => arguments.get(usize::from(*i)),
        _ => None,
    });
    !format.is_some_and(|format| prints_bytes(*format, 4))
}

/// Whether a value is a constant format, or one of several, and none of them asks for wide texts.
fn prints_bytes(format: Value, depth: u32) -> bool {
    let all = |values: Vec<Value>| depth > 0 && values.into_iter().all(|value| prints_bytes(value, depth - 1));
    match format.kind() {
        Kind::Variable(variable) if variable.is_constant() => {
            let text = variable.initial().map(|initial| initial.text().unwrap_or_default());
            // `%ls` and `%S`, whatever stands between; `l` and `s` apart are a number and a text.
            text.is_some_and(|text| text.replace("%%", "").split('%').skip(1).all(|one| !asks_for_wide(one)))
        }
        Kind::Instruction(inst) => match inst.opcode() {
            Opcode::LLVMSelect => all(format.operands()[1..].to_vec()),
            Opcode::LLVMPHI => all(inst.incoming()),
            _ => false,
        },
        _ => false,
    }
}

/// Whether what follows a per cent sign is a conversion of a wide text or character.
fn asks_for_wide(conversion: &str) -> bool {
    let directive = conversion.trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #0'*.$".contains(c));
    let kind = directive.trim_start_matches(['l', 'h', 'j', 'z', 't', 'L', 'q']);
    let is_long = directive.len() > kind.len() && directive.starts_with('l');
    kind.starts_with('S') || is_long && kind.starts_with('s')
}

/// Whether a variable is named as rustc's tables of trait objects are, or has only the name that variables without one are given. What C and C++
/// name is not private, but for what the compiler itself makes of initial values, and that has names.
fn is_rustcs_table(variable: Value) -> bool {
    let name = variable.name();
    variable.is_private() && (name.is_empty() || name.starts_with("vtable.") || name.starts_with("anon."))
}

/// What LLVM's attributes promise.
fn promise(function: LlvmFunction) -> Promise {
    // Two bits each, read and write: arguments, memory that nobody else sees, errno, the rest.
    match function.memory_effects() {
        Some(bits) if bits >> 6 == 0 => match bits & 3 {
            0 => Promise::NoMemory,
            1 => Promise::ReadsArguments,
            _ => Promise::Arguments,
        },
        _ => Promise::Nothing,
    }
}

/// Whether a function is where Rust's standard library starts to panic. What happens behind is the language's, not the
/// program's: the call ends the unit with a message.
fn is_panic(name: &str, function: LlvmFunction) -> bool {
    let standard = ["4core", "3std", "5alloc"].iter().any(|c| name.contains(c));
    let begins = matches!(name, "rust_begin_unwind" | "rust_panic") || name.ends_with("17rust_begin_unwind");
    begins || standard && is_rust(name) && function.has_attribute("noreturn")
}

/// Whether a linker's name is one that rustc makes.
pub(super) fn is_rust(name: &str) -> bool {
    name.starts_with("_R") || name.starts_with("_ZN") && name.len() > 20 && name[name.len() - 20..].starts_with("17h")
}
