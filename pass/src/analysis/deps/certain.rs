//! What a function certainly writes, solved along control flow.

use super::body::{Length, Op};
use super::must::Written;
use super::paths::Set;
use super::solve::Solver;
use std::rc::Rc;
use unseen_abi::deps::Offset;

impl Solver<'_> {
    /// Solves what is certainly written before each instruction, and when the function returns.
    pub(super) fn certain_writes(&mut self) {
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
            Op::Call { callee, args, maybe: false, .. } => {
                let known = self.known;
                let (summary, recursive) = known.callee(callee);
                if summary.written.is_empty() {
                    return false;
                }
                let mut added = false;
                let mut call = self.call(index, args, recursive);
                for (base, from, to) in summary.written.iter() {
                    let target = self.eval(base, &mut call);
                    added |= self.write_at(&target, from, (to - from) as u64, state);
                }
                added
            }
            _ => false,
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
}
