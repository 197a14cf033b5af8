//! One function: what its values may point to, then what of the state before the call it reads.
//!
//! Values and memory are solved without regard to order, by passes until nothing changes; what is certainly written is
//! solved along control flow. The second needs the first (which store goes where), and makes the first sharper (what is
//! overwritten is no longer what it was at entry): with certain writes, values are solved a second time.

use super::body::{Body, Callee, Function, Length, Loaded, Op, Operand, Program};
use super::memory::{self, ENDLESS, Manner, Memory, Wanted};
use super::must::Written;
use super::paths::{ANYWHERE, Base, Object, Paths, Pointer, Set};
use super::summary::Summary;
use std::collections::HashMap;
use std::rc::Rc;
use unseen_abi::deps::{Offset, Reason};

/// How many passes over a function are made before it is given up.
const PASSES: usize = 40;
/// How much work with sets a function may cost: for each of its instructions, and at least.
const WORK: (u64, u64) = (4_000, 400_000);
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
    order: Vec<u32>,
    looping: Vec<bool>,
}

/// What a callee's objects are in the caller, at one call.
pub(super) struct Call<'s> {
    pub index: usize,
    pub args: &'s [Operand],
    pub looping: bool,
    /// What the callee follows is looked for, not what it passes on.
    pub followed: bool,
    memo: HashMap<Base, Set>,
}

impl<'a> Solver<'a> {
    pub fn new(
        paths: &'a mut Paths,
        program: &'a Program,
        function: &'a Function,
        body: &'a Body,
        known: &'a dyn Known,
    ) -> Solver<'a> {
        let order = reverse_postorder(body);
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
        if alone || self.gave_up {
            return;
        }
        self.certain_writes();
        if self.written.iter().any(Option::is_some) {
            self.values_and_memory();
            self.certain_writes();
        }
    }

    /// The blocks that are reached, in an order in which most come after those before them.
    pub(super) fn order(&self) -> &[u32] {
        &self.order
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
        let limit = self.paths.work + WORK.1.max(WORK.0 * self.body.insts.len() as u64);
        for _ in 0..PASSES {
            let mut changed = false;
            for index in 0..self.order.len() {
                let number = self.order[index] as usize;
                let block = &self.body.blocks[number];
                for inst in block.start as usize..block.end as usize {
                    changed |= self.step(inst, self.looping[number]);
                }
                if self.paths.work > limit {
                    let over = self.paths.work - limit;
                    if over > MORE.0 || self.paths.over + over > MORE.1 {
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
            Op::Load { address, size: _, parts, kind, volatile: _ } => {
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

    fn give(&mut self, index: usize, set: &Set) -> bool {
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

    /// Applies a call to values and memory.
    fn apply(&mut self, index: usize, callee: &Callee, args: &[Operand], looping: bool) -> bool {
        let known = self.known;
        let (summary, recursive) = known.callee(callee);
        if self.alone {
            let number = Set::of(self.paths.start(Object::Number));
            return self.give(index, &number);
        }
        let mut changed = self.pass_unnamed(index, callee, args);
        let mut call = Call { index, args, looping: looping || recursive, followed: false, memo: HashMap::new() };
        for effect in &summary.effects {
            for target in self.eval(effect.base, &mut call).iter() {
                let target = self.paths.shift(target, effect.at);
                match &effect.content {
                    memory::Content::Values(set) => {
                        let values = self.translate(set, &mut call);
                        changed |= self.memory.store(self.paths, target, effect.length, &values);
                    }
                    memory::Content::Copy(source) => {
                        let mut sources = self.translate(&Set::of(*source), &mut call);
                        let number = self.paths.start(Object::Number);
                        if sources.0.len() > 1 {
                            sources.0.retain(|p| *p != number);
                        }
                        for source in sources.iter() {
                            changed |= self.memory.copy(self.paths, self.program, target, effect.length, source);
                        }
                    }
                }
            }
        }
        let returned = self.translate(&summary.returns, &mut call);
        changed | self.give(index, &returned)
    }

    /// Puts unnamed arguments where a variadic callee finds them.
    fn pass_unnamed(&mut self, index: usize, callee: &Callee, args: &[Operand]) -> bool {
        let named = match callee {
            Callee::Function(f) if self.program.functions[*f as usize].variadic => {
                self.program.functions[*f as usize].params.len()
            }
            // A function that is called through a pointer may be variadic without our seeing it.
            Callee::Group(_) => 0,
            _ => return false,
        };
        let base = self.paths.base(unnamed(index));
        let anywhere = self.paths.pointer(base, ANYWHERE);
        let mut changed = false;
        for arg in args.iter().skip(named) {
            let set = self.set(*arg);
            changed |= self.memory.store(self.paths, anywhere, ENDLESS, &set);
        }
        changed
    }

    pub(super) fn translate(&mut self, set: &Set, call: &mut Call) -> Set {
        let mut out = Set::default();
        for pointer in set.iter() {
            let (base, offset) = self.paths.get(pointer);
            for target in self.eval(base, call).iter() {
                let target = self.paths.shift(target, offset);
                self.paths.join(&mut out, target);
            }
        }
        out
    }

    /// What an object of the callee is here, as pointers to its start.
    pub(super) fn eval(&mut self, base: Base, call: &mut Call) -> Set {
        if let Some(set) = call.memo.get(&base) {
            return set.clone();
        }
        let set = match self.paths.object(base).clone() {
            Object::Param(i) => match call.args.get(i as usize) {
                Some(arg) => self.set(*arg),
                None => Set::default(),
            },
            Object::Global(_) | Object::Constant(_) | Object::Number | Object::Unknown(_) => {
                Set::of(self.paths.pointer(base, Offset::At(0)))
            }
            Object::Variadic => Set::of(self.paths.start(unnamed(call.index))),
            Object::Fresh(_) => Set::of(self.paths.start(Object::Fresh(call.index as u32))),
            // A stack variable of a function that has returned.
            Object::Local(_) => Set::default(),
            Object::Deref(from, at) => {
                let from = self.eval(from, call);
                self.follow(&from, &[at], call, call.looping)
            }
            Object::Closure(from, offsets) => {
                let mut all = self.eval(from, call);
                loop {
                    let more = self.follow(&all, &offsets, call, true);
                    if !self.paths.join_all(&mut all, &more) {
                        break all;
                    }
                }
            }
            Object::Reach(from) => {
                let from = self.eval(from, call);
                self.memory.reach(self.paths, self.program, &from)
            }
        };
        call.memo.insert(base, set.clone());
        set
    }

    /// The pointers that lie at the offsets behind these, when the call is made.
    fn follow(&mut self, from: &Set, offsets: &[Offset], call: &Call, looping: bool) -> Set {
        let written = self.written[call.index].clone();
        let wanted = if call.followed { Wanted::Pointer } else { Wanted::Passed };
        let manner = Manner { looping, written: written.as_deref(), wanted };
        let mut out = Set::default();
        let number = self.paths.start(Object::Number);
        let passed = self.paths.base(unnamed(call.index));
        for pointer in from.iter().filter(|p| from.0.len() == 1 || *p != number) {
            for offset in offsets {
                let place = self.paths.shift(pointer, *offset);
                let mut set = self.memory.load(self.paths, self.program, place, manner);
                self.memory.drop_narrow(self.paths, &mut set);
                if self.paths.get(pointer).0 == passed {
                    // Among the unnamed arguments, numbers are not followed.
                    set.0.retain(|p| *p != number && self.is_followed(*p, call));
                }
                self.paths.join_all(&mut out, &set);
            }
        }
        out
    }

    /// Whether an unnamed argument may be followed: the library follows only what is passed as a pointer.
    fn is_followed(&self, pointer: Pointer, call: &Call) -> bool {
        let Object::Param(i) = *self.paths.object(self.paths.get(pointer).0) else { return true };
        let external = match &self.body.insts[call.index].op {
            Op::Call { callee: Callee::Function(f), .. } => self.program.functions[*f as usize].body.is_none(),
            _ => false,
        };
        self.function.params.get(i as usize).is_none_or(|p| p.pointer || !external && p.size >= 8)
    }

    pub(super) fn call<'s>(&self, index: usize, args: &'s [Operand], recursive: bool) -> Call<'s> {
        let block = self.body.blocks.iter().position(|b| (b.start as usize..b.end as usize).contains(&index));
        let looping = recursive || block.is_some_and(|b| self.looping[b]);
        Call { index, args, looping, followed: true, memo: HashMap::new() }
    }

    /// Solves what is certainly written before each instruction, and when the function returns.
    fn certain_writes(&mut self) {
        let body = self.body;
        let mut at_start: Vec<Option<Written>> = vec![None; body.blocks.len()];
        let mut returned: Option<Written> = None;
        at_start[0] = Some(Written::default());
        let mut changed = true;
        while changed {
            changed = false;
            returned = None;
            for index in 0..self.order.len() {
                let number = self.order[index] as usize;
                let Some(mut state) = at_start[number].clone() else { continue };
                let block = &body.blocks[number];
                let mut before_last = None;
                let mut shared = (!state.is_empty()).then(|| Rc::new(state.clone()));
                for inst in block.start as usize..block.end as usize {
                    if inst + 1 == block.end as usize && block.unwind.is_some() {
                        before_last = Some(state.clone());
                    }
                    self.written[inst] = shared.clone();
                    if self.writes(inst, &mut state) {
                        shared = Some(Rc::new(state.clone()));
                    }
                    if matches!(body.insts[inst].op, Op::Return(_)) {
                        match &mut returned {
                            Some(all) => all.meet(&state),
                            None => returned = Some(state.clone()),
                        }
                    }
                }
                let unwound = block.unwind.into_iter().zip(before_last);
                let next = block.next.iter().map(|n| (*n, state.clone())).chain(unwound);
                for (next, state) in next {
                    match &mut at_start[next as usize] {
                        Some(old) => {
                            let before = old.clone();
                            old.meet(&state);
                            changed |= *old != before;
                        }
                        none => {
                            *none = Some(state);
                            changed = true;
                        }
                    }
                }
            }
        }
        self.returned = returned.unwrap_or_default();
    }

    /// Adds what an instruction certainly writes. Returns whether that is anything.
    fn writes(&mut self, index: usize, state: &mut Written) -> bool {
        let body = self.body;
        match &body.insts[index].op {
            Op::Store { address, size, maybe: false, .. } => {
                let address = self.set(*address);
                self.write_at(&address, 0, *size, state)
            }
            Op::CopyBytes { to, length: Length::Bytes(n), .. } | Op::Fill { to, length: Length::Bytes(n) } => {
                let to = self.set(*to);
                self.write_at(&to, 0, *n, state)
            }
            Op::Call { callee, args, maybe: false } => {
                let known = self.known;
                let (summary, recursive) = known.callee(callee);
                if summary.written.is_empty() {
                    return false;
                }
                let mut added = false;
                let mut call = self.call(index, args, recursive);
                for (base, from, to) in summary.written.iter() {
                    if let Object::Param(i) = *self.paths.object(base)
                        && self.is_callers_copy(callee, i)
                    {
                        continue;
                    }
                    let target = self.eval(base, &mut call);
                    added |= self.write_at(&target, from, (to - from) as u64, state);
                }
                added
            }
            _ => false,
        }
    }

    /// Whether the callee has a copy of what the argument points to.
    fn is_callers_copy(&self, callee: &Callee, param: u32) -> bool {
        match callee {
            Callee::Function(f) => {
                self.program.functions[*f as usize].params.get(param as usize).is_some_and(|p| p.by_value)
            }
            _ => true,
        }
    }

    fn write_at(&self, address: &Set, from: i64, length: u64, state: &mut Written) -> bool {
        let Some((base, Offset::At(at))) = address.single().map(|p| self.paths.get(p)) else { return false };
        let certain = self.paths.is_entry(base) && self.paths.is_one(base);
        if certain {
            state.add(base, at.saturating_add(from), length);
        }
        certain
    }

    /// The pointer's object and offset.
    pub(super) fn get(&self, pointer: Pointer) -> (Base, Offset) {
        self.paths.get(pointer)
    }
}

/// The object that holds the unnamed arguments of a call. Instructions never reach this number.
fn unnamed(index: usize) -> Object {
    Object::Local(u32::MAX - index as u32)
}

/// The most bytes that a length may be.
pub(super) fn bytes(length: Length) -> u64 {
    match length {
        Length::Bytes(n) => n,
        _ => ENDLESS,
    }
}

fn successors(body: &Body, block: u32) -> impl Iterator<Item = u32> + '_ {
    let block = &body.blocks[block as usize];
    block.next.iter().copied().chain(block.unwind)
}

fn reverse_postorder(body: &Body) -> Vec<u32> {
    let mut order = Vec::new();
    let mut seen = vec![false; body.blocks.len()];
    let mut stack: Vec<(u32, Vec<u32>)> = Vec::new();
    if !body.blocks.is_empty() {
        seen[0] = true;
        stack.push((0, successors(body, 0).collect()));
    }
    while let Some((block, rest)) = stack.last_mut() {
        match rest.pop() {
            Some(next) if !seen[next as usize] => {
                seen[next as usize] = true;
                stack.push((next, successors(body, next).collect()));
            }
            Some(_) => {}
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

/// Which blocks may come after themselves.
fn in_loops(body: &Body, order: &[u32]) -> Vec<bool> {
    let graph: Vec<Vec<u32>> = (0..body.blocks.len() as u32).map(|b| successors(body, b).collect()).collect();
    let mut looping = vec![false; graph.len()];
    for component in super::components::components(&graph, order) {
        let alone = component.len() == 1 && !graph[component[0] as usize].contains(&component[0]);
        for block in component {
            looping[block as usize] = !alone;
        }
    }
    looping
}
