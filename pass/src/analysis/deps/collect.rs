//! The last look at a solved function: its summary.

use super::body::{Callee, Length, Op, Operand};
use super::calls::Call;
use super::endings::Endings;
use super::memory::ENDLESS;
use super::paths::{Base, Object, Pointer, Set};
use super::slices;
use super::solve::{Solver, bytes};
use super::summary::{Cause, Entry, Span, Summary, Thing};
use rustc_hash::FxHashSet as HashSet;
use unseen_abi::deps::{Offset, Reason};
use unseen_abi::manifest::Place;

/// What is being collected.
struct Found<'a> {
    endings: &'a Endings,
    summary: Summary,
    reads: HashSet<Thing>,
    writes: HashSet<Thing>,
}

/// Where something was found.
#[derive(Clone, Copy)]
struct Origin {
    index: usize,
    block: u32,
    at: Option<Place>,
    via: Option<u32>,
}

impl Found<'_> {
    fn read(&mut self, thing: Thing, origin: Origin) {
        if self.reads.insert(thing) {
            self.summary.reads.push(Entry { thing, at: origin.at, via: origin.via });
        }
    }

    fn write(&mut self, thing: Thing, origin: Origin) {
        if self.writes.insert(thing) {
            self.summary.writes.push(Entry { thing, at: origin.at, via: origin.via });
        }
    }

    fn opaque(&mut self, reason: Reason, name: &str, origin: Origin) {
        let ends = self.endings.ends(origin.block);
        self.summary.add_cause(Cause { reason, ends, name: name.into(), at: origin.at, via: origin.via });
    }
}

impl Solver<'_> {
    /// The summary of the solved function.
    pub fn collect(&mut self, endings: &Endings) -> Summary {
        let mut found =
            Found { endings, summary: Summary::default(), reads: HashSet::default(), writes: HashSet::default() };
        let body = self.body;
        for number in self.order.clone() {
            let block = &body.blocks[number as usize];
            for index in block.start as usize..block.end as usize {
                self.look(index, number, &mut found);
            }
        }
        if self.gave_up {
            found.summary.add_cause(Cause::new(Reason::Limit));
        }
        let mut summary = found.summary;
        slices::bound(self.paths, &self.function.slices, &mut summary.reads);
        slices::bound(self.paths, &self.function.slices, &mut summary.writes);
        if self.alone {
            // Callers will not look further either.
            summary.bound(self.paths);
            return summary;
        }
        summary.written = std::mem::take(&mut self.returned);
        let returns = summary.returns.clone();
        summary.returns = self.outward(&returns);
        self.effects(&mut summary);
        summary.bound(self.paths);
        summary
    }

    fn look(&mut self, index: usize, block: u32, found: &mut Found) {
        let body = self.body;
        let origin = Origin { index, block, at: body.insts[index].place, via: None };
        match &body.insts[index].op {
            Op::Load { address, size, volatile, .. } => {
                if *volatile {
                    self.read_volatile(*address, origin, found);
                }
                self.read(*address, Span::Bytes(*size), origin, found);
            }
            // Nothing comes back of a store, volatile or not.
            Op::Store { address, value, size, .. } => {
                let set = self.set(*address);
                self.write(&set, Span::Bytes(*size), origin, found);
                if self.leaves(&set) {
                    self.uses(*value, origin, found);
                }
            }
            Op::CopyBytes { to, from, length } => {
                let span = self.span(*length, origin);
                self.use_length(*length, origin, found);
                self.read(*from, span, origin, found);
                let set = self.set(*to);
                self.write(&set, span, origin, found);
                if self.leaves(&set) {
                    for pointer in self.set(*from).iter() {
                        self.use_own(pointer, bytes(*length), origin, found);
                    }
                }
            }
            Op::Fill { to, length } => {
                let span = self.span(*length, origin);
                self.use_length(*length, origin, found);
                let set = self.set(*to);
                self.write(&set, span, origin, found);
            }
            Op::Near(of) => self.uses(*of, origin, found),
            Op::Compute(of) | Op::Use(of) => {
                of.iter().for_each(|operand| self.uses(*operand, origin, found));
            }
            Op::Return(value) => {
                self.uses(*value, origin, found);
                let set = self.set(*value);
                self.paths.join_all(&mut found.summary.returns, &set);
            }
            Op::VaStart { list } => {
                let set = self.set(*list);
                self.write(&set, Span::Bytes(24), origin, found);
            }
            Op::Opaque(reason, name) => found.opaque(*reason, name, origin),
            Op::Call { callee, args, ignored, .. } => {
                self.look_at_reasons(callee, *ignored, origin, found);
                self.look_at_call(callee, args, origin, found);
            }
            Op::Alloca | Op::Offset { .. } | Op::Copy(_) | Op::Forge(_) => {}
        }
    }

    /// Why a callee's state does not decide what it does.
    fn look_at_reasons(&mut self, callee: &Callee, ignored: bool, origin: Origin, found: &mut Found) {
        let known = self.known;
        if *callee == Callee::Nobody {
            found.opaque(Reason::Indirect, "", origin);
        }
        let direct = self.direct(callee);
        for cause in &known.callee(callee).0.causes {
            let external = matches!(callee, Callee::Function(f) if !self.program.functions[*f as usize].defined);
            if cause.reason == Reason::Output && ignored && external {
                // Nothing comes back of it.
                let output = self.paths.base(Object::Global(self.program.output()));
                found.write(Thing::Memory { base: output, offset: Offset::At(0), span: Span::Object }, origin);
                continue;
            }
            let ends = found.endings.callee_ends(self.body, origin.block, origin.index, cause.ends);
            let via = direct.or(cause.via);
            found.summary.add_cause(Cause { ends, at: origin.at, via, ..cause.clone() });
        }
    }

    /// The function that is called, if it is one of the program.
    fn direct(&self, callee: &Callee) -> Option<u32> {
        match callee {
            Callee::Function(f) if self.program.functions[*f as usize].body.is_some() => Some(*f),
            _ => None,
        }
    }

    fn look_at_call(&mut self, callee: &Callee, args: &[Operand], mut origin: Origin, found: &mut Found) {
        let known = self.known;
        let (summary, recursive) = known.callee(callee);
        let direct = self.direct(callee);
        if self.alone {
            args.iter().for_each(|arg| self.uses(*arg, origin, found));
            return;
        }
        // Of a panic's message, what is packed into numbers is left out.
        let panics = matches!(callee, Callee::Function(f) if self.program.functions[*f as usize].panics);
        if !panics && self.follows_number(callee, summary, args) {
            found.opaque(Reason::IntegerToPointer, "", origin);
        }
        let mut call = self.call(origin.index, args, recursive);
        for entry in &summary.reads {
            // A group of functions passes on who of them it was.
            origin.via = direct.or(entry.via);
            match entry.thing {
                Thing::Param(i) => {
                    if let Some(arg) = args.get(i as usize) {
                        self.uses(*arg, origin, found);
                    }
                }
                Thing::Memory { base, offset, span } => {
                    let span = self.span_here(span, offset, &mut call);
                    for target in self.eval(base, &mut call).iter() {
                        if panics && *self.paths.object(self.get(target).0) == Object::Unknown(Reason::IntegerToPointer)
                        {
                            continue;
                        }
                        let target = self.paths.shift(target, offset);
                        self.read_at(target, span, origin, found);
                    }
                }
            }
        }
        for entry in &summary.writes {
            origin.via = direct.or(entry.via);
            if let Thing::Memory { base, offset, span } = entry.thing {
                let span = self.span_here(span, offset, &mut call);
                let targets = self.eval(base, &mut call);
                let mut moved = Set::default();
                for target in targets.iter() {
                    let target = self.paths.shift(target, offset);
                    self.paths.join(&mut moved, target);
                }
                self.write(&moved, span, origin, found);
            }
        }
    }

    /// Whether the callee follows an argument that is a number here. What is passed as a pointer and may also be a number
    /// is a pointer.
    fn follows_number(&mut self, callee: &Callee, summary: &Summary, args: &[Operand]) -> bool {
        let callee = match callee {
            Callee::Function(f) => Some(*f),
            Callee::Group(g) => self.program.groups[*g as usize].members.first().copied(),
            Callee::Nobody => None,
        };
        let params = callee.map_or(&[][..], |f| &self.program.functions[f as usize].params);
        summary.reads.iter().chain(&summary.writes).any(|entry| {
            let Thing::Memory { base, .. } = entry.thing else { return false };
            let Object::Param(i) = *self.paths.object(self.paths.root(base)) else { return false };
            let Some(arg) = args.get(i as usize) else { return false };
            let set = self.set(*arg);
            let pointer = params.get(i as usize).is_none_or(|p| p.pointer);
            self.is_number(&set) || !pointer && self.may_be_number(&set)
        })
    }

    /// A read through an operand.
    fn read(&mut self, address: Operand, span: Span, origin: Origin, found: &mut Found) {
        let set = self.set(address);
        if self.is_number(&set) {
            found.opaque(Reason::IntegerToPointer, "", origin);
        }
        for pointer in set.iter() {
            self.read_at(pointer, span, origin, found);
        }
    }

    /// What others may change meanwhile; variables on the stack, they don't.
    fn read_volatile(&mut self, address: Operand, origin: Origin, found: &mut Found) {
        let set = self.set(address);
        let own = |p: Pointer| matches!(self.paths.object(self.get(p).0), Object::Local(_));
        if set.0.is_empty() || !set.iter().all(own) {
            found.opaque(Reason::Volatile, "", origin);
        }
    }

    fn read_at(&mut self, pointer: Pointer, span: Span, origin: Origin, found: &mut Found) {
        let (base, offset) = self.get(pointer);
        match *self.paths.object(base) {
            Object::Unknown(reason) => found.opaque(reason, "", origin),
            Object::Number | Object::Constant(_) | Object::Fresh(_) | Object::Thrown => {}
            Object::Local(_) => {
                let length = match span {
                    Span::Bytes(n) => n,
                    _ => ENDLESS,
                };
                // A load from the stack is followed by what happens to the value; a callee's read is not.
                if origin.via.is_some()
                    || !matches!(self.body.insts[origin.index].op, Op::Load { .. } | Op::CopyBytes { .. })
                {
                    self.use_own(pointer, length, origin, found);
                }
            }
            Object::Param(i) if !self.param_can_point(i) => found.opaque(Reason::IntegerToPointer, "", origin),
            Object::Reach(_) => {
                let thing = Thing::Memory { base, offset: Offset::At(0), span: Span::Object };
                found.read(thing, origin);
            }
            _ => {
                if let (Offset::At(at), Span::Bytes(n)) = (offset, span)
                    && self.written[origin.index].as_ref().is_some_and(|w| w.covers(base, at, n))
                {
                    return;
                }
                found.read(Thing::Memory { base, offset, span: whole(offset, span) }, origin);
            }
        }
    }

    fn write(&mut self, set: &Set, span: Span, origin: Origin, found: &mut Found) {
        if self.is_number(set) {
            found.opaque(Reason::IntegerToPointer, "", origin);
        }
        for pointer in set.iter() {
            let (base, offset) = self.get(pointer);
            match *self.paths.object(base) {
                Object::Unknown(reason) => found.opaque(reason, "", origin),
                Object::Param(i) if !self.param_can_point(i) => found.opaque(Reason::IntegerToPointer, "", origin),
                Object::Reach(_) => {
                    let thing = Thing::Memory { base, offset: Offset::At(0), span: Span::Object };
                    found.write(thing, origin);
                }
                _ if self.paths.is_entry(base) => {
                    found.write(Thing::Memory { base, offset, span: whole(offset, span) }, origin);
                }
                _ => {}
            }
        }
    }

    /// Whether a parameter is wide enough for a pointer.
    fn param_can_point(&self, param: u32) -> bool {
        self.function.params.get(param as usize).is_none_or(|p| p.pointer || p.size == 0 || p.size >= 8)
    }

    /// Whether what is stored there is seen by others.
    fn leaves(&self, targets: &Set) -> bool {
        targets.iter().any(|p| !matches!(self.paths.object(self.get(p).0), Object::Local(_)))
    }

    /// The value itself matters: parameters that it may be are read.
    fn uses(&mut self, operand: Operand, origin: Origin, found: &mut Found) {
        let set = self.set(operand);
        self.use_set(&set, origin, found);
    }

    fn use_set(&mut self, set: &Set, origin: Origin, found: &mut Found) {
        for pointer in set.iter() {
            match *self.paths.object(self.get(pointer).0) {
                Object::Param(i) => found.read(Thing::Param(i), origin),
                // What a closure starts from is among what it means.
                Object::Closure(from, _) | Object::Reach(from) => {
                    if let Object::Param(i) = *self.paths.object(from) {
                        found.read(Thing::Param(i), origin);
                    }
                }
                _ => {}
            }
        }
    }

    /// Parameters whose values lie in the function's own memory are read with it.
    fn use_own(&mut self, pointer: Pointer, length: u64, origin: Origin, found: &mut Found) {
        if let Object::Local(_) = *self.paths.object(self.get(pointer).0) {
            let values = self.memory.own_values(self.paths, self.program, pointer, length);
            self.use_set(&values, origin, found);
        }
    }

    fn use_length(&mut self, length: Length, origin: Origin, found: &mut Found) {
        if let Length::Value(operand, _) = length {
            self.uses(operand, origin, found);
        }
    }

    fn span(&mut self, length: Length, origin: Origin) -> Span {
        match length {
            Length::Bytes(n) => Span::Bytes(n),
            Length::Text => Span::Text,
            Length::Unknown => Span::Rest,
            Length::Value(operand, scale) => self.span_by(operand, scale, origin.index),
        }
    }

    /// A callee's span with arguments in place of parameters.
    fn span_here(&mut self, span: Span, offset: Offset, call: &mut Call) -> Span {
        match span {
            Span::ByParam { param, scale } => match call.args.get(param as usize) {
                Some(arg) => self.span_by(*arg, scale, call.index),
                None => Span::Rest,
            },
            Span::ByMemory { base, at, size, scale } => {
                let targets = self.eval(base, call);
                match targets.single().map(|p| self.get(p)) {
                    Some((base, Offset::At(start))) if self.is_as_at_entry(base) => {
                        Span::ByMemory { base, at: start.saturating_add(at), size, scale }
                    }
                    _ => whole(offset, Span::Rest),
                }
            }
            other => other,
        }
    }

    /// `scale` bytes times a value, if the value can be named.
    fn span_by(&mut self, operand: Operand, scale: u64, index: usize) -> Span {
        match operand {
            Operand::Number(n) => u64::try_from(n).map_or(Span::Rest, |n| Span::Bytes(n.saturating_mul(scale))),
            Operand::Param(param) => Span::ByParam { param, scale },
            Operand::Inst(inst) if (inst as usize) < index => {
                let body = self.body;
                match &body.insts[inst as usize].op {
                    Op::Copy(of) if of.len() == 1 => self.span_by(of[0], scale, inst as usize),
                    Op::Load { address, size, .. } => self.span_by_load(*address, *size, scale, inst as usize),
                    _ => Span::Rest,
                }
            }
            _ => Span::Rest,
        }
    }

    fn span_by_load(&mut self, address: Operand, size: u64, scale: u64, index: usize) -> Span {
        let Some((base, Offset::At(at))) = self.set(address).single().map(|p| self.get(p)) else { return Span::Rest };
        if let Object::Local(_) = self.paths.object(base) {
            // A variable that is stored to once has that value.
            return match self.only_store(base) {
                Some((value, stored)) if stored < index => self.span_by(value, scale, stored),
                _ => Span::Rest,
            };
        }
        if self.is_as_at_entry(base) && size <= 8 { Span::ByMemory { base, at, size, scale } } else { Span::Rest }
    }

    /// The one store to a stack variable that nothing else writes, and nobody else knows.
    fn only_store(&mut self, local: Base) -> Option<(Operand, usize)> {
        let mut only = None;
        let body = self.body;
        for (index, inst) in body.insts.iter().enumerate() {
            let (address, value) = match &inst.op {
                Op::Store { address, value, .. } => (*address, Some(*value)),
                Op::CopyBytes { to, .. } | Op::Fill { to, .. } => (*to, None),
                Op::Call { args, .. } => {
                    for arg in args {
                        if self.set(*arg).iter().any(|p| self.get(p).0 == local) {
                            return None;
                        }
                    }
                    continue;
                }
                _ => continue,
            };
            // Known elsewhere.
            if let Some(value) = value
                && self.set(value).iter().any(|p| self.get(p).0 == local)
            {
                return None;
            }
            let targets = self.set(address);
            if targets.iter().any(|p| self.get(p).0 == local) {
                let exact = targets.single().is_some_and(|p| self.get(p).1 == Offset::At(0));
                match (value, only) {
                    (Some(value), None) if exact => only = Some((value, index)),
                    _ => return None,
                }
            }
        }
        only
    }

    /// Whether an object of one name still holds what it held at entry, because nothing is written that may be it.
    fn is_as_at_entry(&mut self, base: Base) -> bool {
        self.paths.is_entry(base) && self.paths.is_one(base) && !self.writes_entry()
    }

    fn writes_entry(&mut self) -> bool {
        let body = self.body;
        let known = self.known;
        let output = Object::Global(self.program.output());
        body.insts.iter().any(|inst| match &inst.op {
            Op::Store { address, .. } | Op::CopyBytes { to: address, .. } | Op::Fill { to: address, .. } => {
                let set = self.set(*address);
                self.leaves(&set)
            }
            Op::Call { callee, .. } => known.callee(callee).0.writes.iter().any(|entry| match entry.thing {
                Thing::Memory { base, .. } => *self.paths.object(base) != output,
                Thing::Param(_) => false,
            }),
            _ => false,
        })
    }
}

/// A span with an open end that starts anywhere is the whole object.
fn whole(offset: Offset, span: Span) -> Span {
    match (offset, span) {
        (Offset::Every { .. }, Span::Rest | Span::ByParam { .. } | Span::ByMemory { .. }) => Span::Object,
        _ => span,
    }
}
