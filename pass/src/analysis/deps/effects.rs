//! What callers may find in memory when a function has returned, and in what it returns.

use super::memory::{Content, ENDLESS, Manner, Wanted};
use super::paths::{ANYWHERE, Base, Object, Pointer, Set, add, overlap};
use super::solve::Solver;
use super::summary::{Effect, Summary, add_effect};
use unseen_abi::deps::Offset;

impl Solver<'_> {
    /// A set as callers may see it: without pointers to the stack.
    pub(super) fn outward(&mut self, set: &Set) -> Set {
        let mut out = Set::default();
        for pointer in set.iter() {
            let (base, offset) = self.get(pointer);
            let pointer = match *self.paths.object(base) {
                Object::Local(_) => continue,
                Object::Fresh(_) => {
                    let fresh = self.paths.base(Object::Fresh(0));
                    self.paths.pointer(fresh, offset)
                }
                _ => pointer,
            };
            self.paths.join(&mut out, pointer);
        }
        out
    }

    /// What callers may find in memory.
    pub(super) fn effects(&mut self, summary: &mut Summary) {
        let regions: Vec<(Base, Vec<super::memory::Cell>)> =
            self.memory.iter().map(|(base, cells)| (base, cells.to_vec())).collect();
        for (base, cells) in regions {
            let target = match *self.paths.object(base) {
                Object::Fresh(_) => self.paths.base(Object::Fresh(0)),
                Object::Local(_) => continue,
                _ => base,
            };
            for cell in cells {
                match cell.content {
                    Content::Values(values) => self.effect(target, cell.at, cell.length, &values, summary),
                    Content::Copy(source) => self.copy_effect(target, cell.at, cell.length, source, summary),
                }
            }
        }
    }

    fn effect(&mut self, base: Base, at: Offset, length: u64, values: &Set, summary: &mut Summary) {
        let values = self.outward(values);
        // A number that is wide enough may be made a pointer of, which callers must hear of.
        if values.0.is_empty() || length < 8 && self.is_number(&values) {
            return;
        }
        add_effect(self.paths, &mut summary.effects, &Effect { base, at, length, content: Content::Values(values) });
    }

    fn copy_effect(&mut self, base: Base, at: Offset, length: u64, source: Pointer, summary: &mut Summary) {
        let (from, start) = self.get(source);
        match *self.paths.object(from) {
            Object::Local(_) => {}
            Object::Fresh(_) => {
                let fresh = self.paths.base(Object::Fresh(0));
                let content = Content::Copy(self.paths.pointer(fresh, start));
                add_effect(self.paths, &mut summary.effects, &Effect { base, at, length, content });
                return;
            }
            _ => {
                add_effect(
                    self.paths,
                    &mut summary.effects,
                    &Effect { base, at, length, content: Content::Copy(source) },
                );
                return;
            }
        }
        // The stack variable is gone when callers look: its contents take its place.
        for cell in self.memory.cells(from).to_vec() {
            if !overlap(cell.at, cell.length, start, length) {
                continue;
            }
            let moved = match (at, start, cell.at) {
                (Offset::At(at), Offset::At(start), cell) => add(cell, Offset::At(at.saturating_sub(start))),
                _ => ANYWHERE,
            };
            match cell.content {
                Content::Values(values) => self.effect(base, moved, cell.length, &values, summary),
                Content::Copy(inner) if !matches!(self.paths.object(self.get(inner).0), Object::Local(_)) => {
                    let (inner_base, inner_at) = self.get(inner);
                    let inner = match *self.paths.object(inner_base) {
                        Object::Fresh(_) => {
                            let fresh = self.paths.base(Object::Fresh(0));
                            self.paths.pointer(fresh, inner_at)
                        }
                        _ => inner,
                    };
                    let effect = Effect { base, at: moved, length: cell.length, content: Content::Copy(inner) };
                    add_effect(self.paths, &mut summary.effects, &effect);
                }
                Content::Copy(inner) => {
                    let (inner, _) = self.get(inner);
                    let inner = self.paths.pointer(inner, ANYWHERE);
                    let manner = Manner { looping: false, written: None, wanted: Wanted::Anything };
                    let values = self.memory.load(self.paths, self.program, inner, manner);
                    self.effect(base, moved, ENDLESS, &values, summary);
                }
            }
        }
    }
}
