//! Which instructions touch memory that matters to the mechanism `access`, and how: plain data for `instrument/access.rs`.
//!
//! A function's own stack slots never matter, nor do constants. Functions without code count as their models say.

use super::sources::Sources;
use crate::llvm::memory::{Kind, Layout, Shape, Value};
use crate::llvm::{Callee, Function, Inst, Module, Opcode};
use crate::plan::Plan;
use unseen_abi::access::Site;
use unseen_abi::models::{self, Effect, Length};

/// What is watched in a module.
#[derive(Default)]
pub struct AccessPlan {
    /// By unit.
    pub units: Vec<Unit>,
    pub sites: Vec<Site>,
}

/// A function.
pub struct Unit {
    pub function: Function,
    pub points: Vec<Point>,
    /// Before these it returns.
    pub ends: Vec<Inst>,
}

/// An instruction, and what it does.
pub struct Point {
    pub at: Inst,
    pub action: Action,
    pub site: u32,
}

/// What an instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    Read(Value, Size),
    Write(Value, Size),
    /// The same, of the elements of a vector that the mask chooses, each of so many bytes.
    ReadLanes(Lanes),
    WriteLanes(Lanes),
    /// Gives new memory of that size, as its result.
    New(Size),
    /// Gives a pointer to something of a library's that never changes.
    Fixed,
    /// Puts a pointer to new memory there.
    NewInto(Value, Size),
    Free(Value),
    /// Tells how large memory is, as its result.
    Measured(Value),
}

/// Elements of a vector in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lanes {
    pub address: Value,
    pub mask: Value,
    pub element: u64,
    /// The chosen ones lie side by side.
    pub packed: bool,
}

/// How many bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    Bytes(u64),
    Value(Value),
    Product(Value, Value),
    Text,
}

/// Looks at the functions with these numbers in the plan.
pub fn plan(module: Module, functions: &[Function], units: &[u32], plan: &mut Plan) -> AccessPlan {
    let mut sources = Sources::after(std::mem::take(&mut plan.files));
    let mut out = AccessPlan::default();
    for number in units {
        let function = functions[plan.functions[*number as usize].index];
        let mut unit = Unit { function, points: Vec::new(), ends: Vec::new() };
        for block in function.blocks() {
            let mut ends = None;
            for inst in block.instructions() {
                let mut actions = actions(inst, module.layout());
                if !actions.is_empty() {
                    let site = out.sites.len() as u32;
                    out.sites.push(Site { function: *number, at: sources.place(inst) });
                    unit.points.extend(actions.drain(..).map(|action| Point { at: inst, action, site }));
                }
                let is_end = inst.opcode() == Opcode::LLVMRet || inst.is_must_tail();
                if is_end && ends.is_none() {
                    ends = Some(inst);
                }
            }
            unit.ends.extend(ends);
        }
        out.units.push(unit);
    }
    plan.files = sources.into_files();
    out
}

/// Functions without code that give memory, take it back, or tell how large it is.
pub fn allocators(functions: &[Function]) -> Vec<Function> {
    let is_known = |name: &str| {
        models::allocation(name).is_some() || models::freed(name).is_some() || models::measured(name).is_some()
    };
    let is_one = |f: &&Function| f.is_declaration() && is_known(&f.name());
    functions.iter().filter(is_one).copied().collect()
}

/// What the calls in a function allocate and free.
pub fn allocations(function: Function, layout: Layout) -> Vec<Point> {
    let instructions = function.blocks().into_iter().flat_map(|b| b.instructions().collect::<Vec<_>>());
    let points = instructions.flat_map(|at| actions(at, layout).into_iter().map(move |action| (at, action)));
    let is_one = |a: &Action| matches!(a, Action::New(_) | Action::NewInto(..) | Action::Free(_) | Action::Measured(_));
    points.filter(|(_, action)| is_one(action)).map(|(at, action)| Point { at, action, site: 0 }).collect()
}

fn actions(inst: Inst, layout: Layout) -> Vec<Action> {
    let operands = || inst.value().operands();
    let size = |value: Value| Size::Bytes(layout.stored_size(value.ty()));
    let all = match inst.opcode() {
        Opcode::LLVMLoad => vec![Action::Read(operands()[0], size(inst.value()))],
        Opcode::LLVMStore => vec![Action::Write(operands()[1], size(operands()[0]))],
        Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg => {
            let (address, size) = (operands()[0], size(operands()[1]));
            vec![Action::Read(address, size), Action::Write(address, size)]
        }
        Opcode::LLVMCall | Opcode::LLVMInvoke => {
            let mut all = copies(inst, layout);
            if let Callee::Direct(function) = inst.callee() {
                all.extend(call(inst, function, layout));
            }
            all
        }
        _ => Vec::new(),
    };
    all.into_iter().filter(|action| matters(action, layout)).collect()
}

fn matters(action: &Action, layout: Layout) -> bool {
    let (address, reads) = match action {
        Action::Read(address, _) => (*address, true),
        Action::ReadLanes(lanes) => (lanes.address, true),
        Action::Write(address, _) => (*address, false),
        Action::WriteLanes(lanes) => (lanes.address, false),
        _ => return true,
    };
    let mut base = address;
    loop {
        base = match base.kind() {
            Kind::Instruction(i) if i.opcode() == Opcode::LLVMGetElementPtr => base.offset(layout).base,
            Kind::Expression(Opcode::LLVMGetElementPtr) => base.offset(layout).base,
            Kind::Instruction(i) => return i.opcode() != Opcode::LLVMAlloca && address.is_plain_pointer(),
            Kind::Variable(variable) => return !(reads && variable.is_constant()),
            _ => return address.is_plain_pointer(),
        }
    }
}

/// What a call copies to pass it by value on the stack.
fn copies(inst: Inst, layout: Layout) -> Vec<Action> {
    let copied = |(i, address)| Some(Action::Read(address, Size::Bytes(inst.copied(i, layout)?)));
    (0..).zip(inst.arguments()).filter_map(copied).collect()
}

fn call(inst: Inst, function: Function, layout: Layout) -> Vec<Action> {
    let arguments = inst.arguments();
    if let Some(name) = function.intrinsic_name() {
        let size = |value: Value| match value.kind() {
            Kind::Number(n) => Size::Bytes(n as u64),
            _ => Size::Value(value),
        };
        let lanes = |address, mask: Value, value: Value, packed| {
            let element = layout.stored_size(value.ty()) / u64::from(value.ty().lanes().max(1));
            Lanes { address, mask, element, packed }
        };
        return match name.as_str() {
            "llvm.memcpy" | "llvm.memmove" | "llvm.memcpy.inline" => {
                let size = size(arguments[2]);
                vec![Action::Read(arguments[1], size), Action::Write(arguments[0], size)]
            }
            "llvm.memset" | "llvm.memset.inline" => vec![Action::Write(arguments[0], size(arguments[2]))],
            "llvm.masked.load" | "llvm.masked.expandload" => {
                vec![Action::ReadLanes(lanes(arguments[0], arguments[1], inst.value(), name.ends_with("expandload")))]
            }
            "llvm.masked.store" | "llvm.masked.compressstore" => {
                let packed = name.ends_with("compressstore");
                vec![Action::WriteLanes(lanes(arguments[1], arguments[2], arguments[0], packed))]
            }
            _ => Vec::new(),
        };
    }
    if !function.is_declaration() {
        return Vec::new();
    }
    let name = function.name();
    let Some(effects) = models::model(&name) else { return Vec::new() };
    let pointer = |i: u8| arguments.get(usize::from(i)).copied().filter(|a| a.ty().shape() == Shape::Pointer);
    let number = |i: u8| {
        arguments.get(usize::from(i)).copied().filter(|a| matches!(a.ty().shape(), Shape::Integer(bits) if bits <= 64))
    };
    let size = |length: Length| match length {
        Length::Bytes(n) => Some(Size::Bytes(n)),
        Length::Argument(i) => Some(Size::Value(number(i)?)),
        Length::Product(a, b) => Some(Size::Product(number(a)?, number(b)?)),
        Length::Text => Some(Size::Text),
        // How much that is only the callee knows. The analysis does not rely on it either.
        Length::Rest => None,
    };
    let certain = |length: Length| size(length).filter(|s| *s != Size::Text);
    let mut out = Vec::new();
    for effect in effects {
        if let Effect::Read(i, length) | Effect::Copies(_, i, length) = *effect {
            out.extend(pointer(i).zip(size(length)).map(|(p, s)| Action::Read(p, s)));
        }
    }
    for effect in effects {
        match *effect {
            Effect::Write(i, length) | Effect::Copies(i, _, length) => {
                out.extend(pointer(i).zip(certain(length)).map(|(p, s)| Action::Write(p, s)));
            }
            Effect::PointInto(i, _) => out.extend(pointer(i).map(|p| Action::Write(p, Size::Bytes(8)))),
            Effect::AllocatesInto(i) => {
                let length = models::allocation(&name).and_then(size);
                out.extend(pointer(i).zip(length).map(|(p, s)| Action::NewInto(p, s)));
            }
            Effect::Constant => out.push(Action::Fixed),
            Effect::Allocates => out.extend(models::allocation(&name).and_then(size).map(Action::New)),
            _ => {}
        }
    }
    out.extend(models::freed(&name).and_then(pointer).map(Action::Free));
    out.extend(models::measured(&name).and_then(pointer).map(Action::Measured));
    out
}
