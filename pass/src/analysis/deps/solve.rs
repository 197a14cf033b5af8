//! One function: what its values may point to, then what of the state before the call it reads.
//!
//! Values and memory are solved without regard to order, by passes until nothing changes; what is certainly written is
//! solved along control flow. The second needs the first (which store goes where), and makes the first sharper (what is
//! overwritten is no longer what it was at entry): with certain writes, values are solved a second time.

use super::body::{Body, Callee, Function, Length, Loaded, Op, Operand, Program};
use super::memory::{self, ENDLESS, Manner, Memory, Wanted};
use super::must::Written;
use super::order::in_loops;
use super::paths::{ANYWHERE, Base, Object, Paths, Pointer, Set};
use super::summary::Summary;
use std::rc::Rc;
use unseen_abi::deps::{Offset, Reason};

/// How many passes over a function are made before it is given up.
const PASSES: usize = 40;
/// How much work with sets a function may cost: for each of its instructions, at least, and at most.
const WORK: (u64, u64, u64) = (4_000, 400_000, 10_000_000);
/// How much more a function may cost, and all functions together: few need it, and a large program has bounds.
const MORE: (u64, u64) = (2_000_000, 100_000_000);

/// What is known of callees.
pub trait Known {
    /// The summary, and whether the callee may call the function that is solved.
    fn callee(&self, callee: &Callee) -> (&Summary, bool);
}

/// A function being solved.
pub struct Solver<'a> {
    pub(super) paths: &'a mut Paths,
    pub(super) program: &'a Program,
    pub(super) function: &'a Function,
    pub(super) body: &'a Body,
    pub(super) known: &'a dyn Known,
    pub(super) values: Vec<Set>,
    pub(super) memory: Memory,
    /// What is certainly written before each instruction.
    pub(super) written: Vec<Option<Rc<Written>>>,
    pub(super) returned: Written,
    pub(super) gave_up: bool,
    /// Too much is hidden for calls to be worth following.
    pub(super) alone: bool,
    /// The blocks that are reached, in an order in which most come after those before them.
    pub(super) order: Vec<u32>,
    pub(super) looping: Vec<bool>,
}

impl<'a> Solver<'a> {
    pub fn new(
        paths: &'a mut Paths,
        program: &'a Program,
        function: &'a Function,
        body: &'a Body,
        known: &'a dyn Known,
        order: Vec<u32>,
    ) -> Solver<'a> {
        let looping = in_loops(body, &order);
        Solver {
            paths,
            program,
            function,
            body,
            known,
            values: Vec::new(),
            memory: Memory::default(),
            written: Vec::new(),
            returned: Written::default(),
            gave_up: false,
            alone: false,
            order,
            looping,
        }
    }

    /// Solves the function. `alone` is for a function of which too much is hidden to be worth more than what stands in it.
    pub fn solve(&mut self, alone: bool) {
        self.alone = alone;
        self.written = vec![None; self.body.insts.len()];
        self.values_and_memory();
        // What is too large to be solved is not looked at more closely either.
        self.alone |= self.gave_up;
        if self.alone {
            return;
        }
        self.certain_writes();
        if self.written.iter().any(Option::is_some) {
            self.values_and_memory();
            self.alone |= self.gave_up;
            if !self.alone {
                self.certain_writes();
            }
        }
    }

    /// What an operand may point to.
    pub(super) fn set(&mut self, operand: Operand) -> Set {
        match operand {
            Operand::Inst(i) => self.values[i as usize].clone(),
            _ => memory::constant(self.paths, self.program, operand),
        }
    }

    fn values_and_memory(&mut self) {
        self.values = vec![Set::default(); self.body.insts.len()];
        self.memory = Memory::new(self.function);
        let limit = self.paths.work + (WORK.0 * self.body.insts.len() as u64).clamp(WORK.1, WORK.2);
        for _ in 0..PASSES {
            let mut changed = false;
            for index in 0..self.order.len() {
                let number = self.order[index] as usize;
                let block = &self.body.blocks[number];
                for inst in block.start as usize..block.end as usize {
                    changed |= self.step(inst, self.looping[number]);
                    let over = self.paths.work.saturating_sub(limit);
                    if over > MORE.0 || over > 0 && self.paths.over + over > MORE.1 {
                        self.paths.over += over;
                        self.gave_up = true;
                        return;
                    }
                }
            }
            if !changed {
                self.paths.over += self.paths.work.saturating_sub(limit);
                return;
            }
        }
        self.gave_up = true;
    }

    /// Applies one instruction to values and memory. Returns whether that is news.
    fn step(&mut self, index: usize, looping: bool) -> bool {
        let body = self.body;
        match &body.insts[index].op {
            Op::Alloca => {
                let pointer = self.paths.start(Object::Local(index as u32));
                self.give(index, &Set::of(pointer))
            }
            Op::Offset { base, at, stride } => {
                let mut moved = Set::default();
                for pointer in self.set(*base).iter() {
                    let mut pointer = self.paths.shift(pointer, Offset::At(*at));
                    if *stride > 0 {
                        pointer = self.paths.shift(pointer, Offset::Every { stride: *stride, at: 0 });
                    }
                    self.paths.join(&mut moved, pointer);
                }
                self.give(index, &moved)
            }
            Op::Copy(of) => {
                let mut changed = false;
                for operand in of {
                    let set = self.set(*operand);
                    changed |= self.give(index, &set);
                }
                changed
            }
            Op::Forge(of) => {
                let mut set = self.set(*of);
                if self.may_be_number(&set) {
                    let unknown = self.paths.start(Object::Unknown(Reason::IntegerToPointer));
                    self.paths.join(&mut set, unknown);
                }
                self.give(index, &set)
            }
            Op::Compute(of) => self.compute(index, of),
            Op::Near(of) if self.program.forges => {
                let mut set = Set::default();
                for pointer in self.set(*of).iter() {
                    let pointer = self.paths.shift(pointer, ANYWHERE);
                    self.paths.join(&mut set, pointer);
                }
                self.give(index, &set)
            }
            Op::Near(of) => self.compute(index, &[*of]),
            Op::Load { address, size: _, parts, kind, .. } => {
                let written = self.written[index].clone();
                let pointer = *kind == Loaded::Pointer;
                let wanted = if pointer { Wanted::Pointer } else { Wanted::Anything };
                let manner = Manner { looping, written: written.as_deref(), wanted };
                let mut loaded = Set::default();
                let address = self.pointing(*address);
                for pointer in address.iter() {
                    let own =
                        matches!(self.paths.object(self.paths.get(pointer).0), Object::Local(_) | Object::Fresh(_));
                    if !own && self.is_numeric(*kind) {
                        let number = self.paths.start(Object::Number);
                        self.paths.join(&mut loaded, number);
                        continue;
                    }
                    for part in parts {
                        let place = self.paths.shift(pointer, Offset::At(i64::from(*part)));
                        let set = self.memory.load(self.paths, self.program, place, manner);
                        self.paths.join_all(&mut loaded, &set);
                    }
                }
                if self.is_numeric(*kind) {
                    self.only_parameters(&mut loaded);
                }
                if pointer {
                    self.drop_number(&mut loaded);
                    self.memory.drop_narrow(self.paths, &mut loaded);
                }
                self.give(index, &loaded)
            }
            Op::Store { address, value, size, .. } => {
                let (address, value) = (self.set(*address), self.set(*value));
                // Too small for a pointer: elsewhere than on the stack, where parameters are kept, it is a number.
                let mut elsewhere = value.clone();
                self.memory.drop_narrow(self.paths, &mut elsewhere);
                if *size < 8 {
                    elsewhere.0.clear();
                }
                if elsewhere.0.len() < value.0.len() {
                    let number = self.paths.start(Object::Number);
                    self.paths.join(&mut elsewhere, number);
                }
                let (copied, mut changed) = self.copy_piece(index, *size);
                if copied && self.is_number(&value) {
                    return changed;
                }
                for pointer in address.iter() {
                    let own = matches!(self.paths.object(self.paths.get(pointer).0), Object::Local(_));
                    let stored = if own { &value } else { &elsewhere };
                    changed |= self.memory.store(self.paths, pointer, *size, stored);
                }
                changed
            }
            Op::CopyBytes { to, from, length } => {
                let (to, from) = (self.pointing(*to), self.pointing(*from));
                let mut changed = false;
                for target in to.iter() {
                    for source in from.iter() {
                        changed |= self.memory.copy(self.paths, self.program, target, bytes(*length), source);
                    }
                }
                changed
            }
            Op::VaStart { list } => {
                let base = self.paths.base(Object::Variadic);
                let unnamed = Set::of(self.paths.pointer(base, ANYWHERE));
                let mut changed = false;
                for pointer in self.set(*list).iter() {
                    let anywhere = self.paths.shift(pointer, ANYWHERE);
                    changed |= self.memory.store(self.paths, anywhere, ENDLESS, &unnamed);
                }
                changed
            }
            Op::Call { callee, args, .. } => self.apply(index, callee, args, looping),
            Op::Fill { .. } | Op::Use(_) | Op::Return(_) | Op::Opaque(..) => false,
        }
    }

    /// What is computed of constants alone is a constant.
    fn compute(&mut self, index: usize, of: &[Operand]) -> bool {
        if of.iter().all(|operand| self.set(*operand).0.is_empty()) {
            return false;
        }
        let number = Set::of(self.paths.start(Object::Number));
        self.give(index, &number)
    }

    /// Whether what is loaded is only ever a number, or copied: nothing in the program makes pointers of numbers.
    fn is_numeric(&self, kind: Loaded) -> bool {
        kind == Loaded::Number || kind == Loaded::Integer && !self.program.forges
    }

    /// Of a number in the function's own memory, only which parameter it is matters.
    fn only_parameters(&mut self, set: &mut Set) {
        let before = set.0.len();
        set.0.retain(|p| {
            let object = self.paths.object(self.paths.get(*p).0);
            matches!(object, Object::Param(_) | Object::Closure(..) | Object::Reach(_) | Object::Number)
        });
        if set.0.len() < before {
            let number = self.paths.start(Object::Number);
            self.paths.join(set, number);
        }
    }

    /// A store of what was loaded as a number, as it is: pointers are copied that way too, whole or in pieces.
    /// Returns whether it is such a store, and whether that is news.
    fn copy_piece(&mut self, store: usize, size: u64) -> (bool, bool) {
        let body = self.body;
        let Op::Store { address, value, .. } = &body.insts[store].op else { return (false, false) };
        let mut value = *value;
        let from = loop {
            let Operand::Inst(i) = value else { return (false, false) };
            match &body.insts[i as usize].op {
                Op::Copy(of) if of.len() == 1 => value = of[0],
                Op::Load { address, kind, .. } if self.is_numeric(*kind) => break *address,
                _ => return (false, false),
            }
        };
        let (to, from) = (self.pointing(*address), self.pointing(from));
        let (copied, mut changed) = (!to.0.is_empty() && !from.0.is_empty(), false);
        for target in to.iter() {
            for source in from.iter() {
                changed |= self.memory.copy(self.paths, self.program, target, size, source);
            }
        }
        (copied, changed)
    }

    pub(super) fn give(&mut self, index: usize, set: &Set) -> bool {
        let mut values = std::mem::take(&mut self.values[index]);
        let grown = self.paths.join_all(&mut values, set);
        self.values[index] = values;
        grown
    }

    /// What an operand may point to; that it may also be a number matters only if it is nothing else.
    fn pointing(&mut self, operand: Operand) -> Set {
        let mut set = self.set(operand);
        self.drop_number(&mut set);
        set
    }

    fn drop_number(&mut self, set: &mut Set) {
        if set.0.len() > 1 {
            let number = self.paths.start(Object::Number);
            set.0.retain(|p| *p != number);
        }
    }

    /// Whether a value is a number that points nowhere known.
    pub(super) fn is_number(&self, set: &Set) -> bool {
        set.single().is_some_and(|p| *self.paths.object(self.paths.get(p).0) == Object::Number)
    }

    /// Whether a value may be a number that points nowhere known.
    pub(super) fn may_be_number(&self, set: &Set) -> bool {
        set.iter().any(|p| *self.paths.object(self.paths.get(p).0) == Object::Number)
    }

    /// The pointer's object and offset.
    pub(super) fn get(&self, pointer: Pointer) -> (Base, Offset) {
        self.paths.get(pointer)
    }
}

/// The most bytes that a length may be.
pub(super) fn bytes(length: Length) -> u64 {
    match length {
        Length::Bytes(n) => n,
        _ => ENDLESS,
    }
}
