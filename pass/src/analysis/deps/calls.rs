//! What a call does to values and memory: the callee's summary with arguments in place of parameters.

use super::body::{Callee, Op, Operand};
use super::memory::{self, ENDLESS, Manner, Wanted};
use super::paths::{ANYWHERE, Base, Object, Pointer, Set};
use super::solve::Solver;
use rustc_hash::FxHashMap as HashMap;
use unseen_abi::deps::Offset;

/// What a callee's objects are in the caller, at one call.
pub(super) struct Call<'s> {
    pub index: usize,
    pub args: &'s [Operand],
    pub looping: bool,
    /// What the callee follows is looked for, not what it passes on.
    pub followed: bool,
    memo: HashMap<Base, Set>,
}

impl Solver<'_> {
    /// Applies a call to values and memory.
    pub(super) fn apply(&mut self, index: usize, callee: &Callee, args: &[Operand], looping: bool) -> bool {
        let known = self.known;
        let (summary, recursive) = known.callee(callee);
        if self.alone {
            let number = Set::of(self.paths.start(Object::Number));
            return self.give(index, &number);
        }
        let mut changed = self.pass_unnamed(index, callee, args);
        let mut call = Call { index, args, looping: looping || recursive, followed: false, memo: HashMap::default() };
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
            Object::Global(_) | Object::Constant(_) | Object::Thrown | Object::Number | Object::Unknown(_) => {
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
        Call { index, args, looping, followed: true, memo: HashMap::default() }
    }
}

/// The object that holds the unnamed arguments of a call. Instructions never reach this number.
fn unnamed(index: usize) -> Object {
    Object::Local(u32::MAX - index as u32)
}
