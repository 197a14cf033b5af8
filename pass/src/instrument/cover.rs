//! Mechanism `cover`: a probe sets one byte.
//!
//! ```text
//! before                              after run                                settle
//!   br i1 %c, label %then, label %end   br i1 %c, label %then, label %edge
//! then:                               then:
//!   call void @f()                      call void @__unseen_probe(i32 0)         store i8 1, ptr @__unseen_counters
//!   br label %end                       call void @f()
//! end:                                  br label %end
//!                                     edge:
//!                                       call void @__unseen_probe(i32 1)         store i8 1, ptr @__unseen_counters + 1
//!                                       br label %end
//!                                     end:
//! ```
//!
//! While functions are inlined and simplified a probe is a call that costs nothing and changes nothing that the program can see:
//! it stands in the way of as little as possible. Then it becomes a store, which never overflows back to "not reached" and needs
//! no load.

use crate::analysis::repeats::{Event, Trace, repeats};
use crate::llvm::{self, Block, Function, Global, Inst, Module, Opcode};
use crate::plan::{Plan, Site};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Attributes that a function which sets counters no longer has.
const BROKEN: [&str; 2] = ["memory", "speculatable"];

/// Puts the probes of `plan` into `functions`.
pub fn run(functions: &[Function], plan: &Plan, probe: Function) {
    for planned in &plan.functions {
        let Some(cover) = planned.cover.as_ref().filter(|c| !c.sites.is_empty()) else { continue };
        let function = functions[planned.index];
        for name in BROKEN {
            function.remove_attribute(name);
        }
        // Around a probe a branch stays that would otherwise be gone: who asks for inlining is to get it none the less.
        let cost = function.is_defined_inline().then_some("-2");
        // Block numbers are those of the function as it was planned: resolve them before edges are split.
        let blocks = function.blocks();
        for (number, site) in (cover.first..).zip(&cover.sites) {
            match *site {
                Site::Block(block) => point_in(blocks[block], block == 0).call_probe_before(probe, number, cost),
                Site::Edge(block, successor) => {
                    let terminator = blocks[block].terminator();
                    let edge = terminator.split_edge(successor).expect("edges of br and switch can be split");
                    edge.terminator().call_probe_before(probe, number, cost);
                }
            }
        }
    }
}

/// What becomes of loops that call nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Loops {
    /// They stay as they are.
    Leave,
    /// They get a copy without probes, for when all is set.
    Copy,
}

/// Makes the calls of `probe` stores to `counters`. Loops get their copies if there is an `epoch`.
pub fn settle(module: Module, probe: Function, counters: Global, epoch: Option<Global>) {
    let functions = probe.callers();
    for function in &functions {
        drop_repeats(*function, probe);
    }
    if let Some(epoch) = epoch {
        llvm::copy_loops(probe, counters, epoch);
    }
    module.admit_stores();
    for function in &functions {
        for block in function.blocks() {
            store(block, probe, counters);
        }
    }
    assert!(probe.callers().is_empty(), "a probe lost its number");
    probe.delete();
}

/// Removes the calls of `probe` that say nothing new. Returns whether there were any.
pub fn drop_repeats(function: Function, probe: Function) -> bool {
    let blocks = function.blocks();
    let mut set = HashSet::default();
    let mut sets = blocks.iter().flat_map(|b| b.instructions()).filter_map(|i| i.number_called_with(probe));
    // Who sets each counter in one place only can't repeat itself.
    if sets.all(|number| set.insert(number)) {
        return false;
    }
    let numbers: HashMap<Block, usize> = blocks.iter().enumerate().map(|(i, b)| (*b, i)).collect();
    let event = |i: Inst| match i.number_called_with(probe) {
        Some(number) => Some((i, Event::Probe(number))),
        None => i.calls().then_some((i, Event::Call)),
    };
    let found: Vec<Vec<_>> = blocks.iter().map(|b| b.instructions().filter_map(event).collect()).collect();
    let trace = Trace {
        events: found.iter().map(|list| list.iter().map(|(_, e)| *e).collect()).collect(),
        successors: blocks.iter().map(|b| b.terminator().successors().iter().map(|s| numbers[s]).collect()).collect(),
    };
    let mut changed = false;
    for (positions, list) in repeats(&trace).iter().zip(found) {
        for position in positions {
            list[*position].0.erase();
            changed = true;
        }
    }
    changed
}

/// Makes stores of a block's probes. Where nothing is called in between, neighbours become one: what follows in a block counts
/// from its first instruction on.
fn store(block: Block, probe: Function, counters: Global) {
    let mut group: Vec<(u32, Inst)> = Vec::new();
    for inst in block.instructions().collect::<Vec<_>>() {
        if let Some(number) = inst.number_called_with(probe) {
            group.push((number, inst));
        } else if inst.calls() {
            store_group(std::mem::take(&mut group), counters);
        }
    }
    store_group(group, counters);
}

fn store_group(mut group: Vec<(u32, Inst)>, counters: Global) {
    let Some((_, at)) = group.first().copied() else { return };
    group.sort_unstable_by_key(|(number, _)| *number);
    let mut rest = &group[..];
    while let Some((first, _)) = rest.first().copied() {
        let run = rest.iter().zip(first..).take_while(|((number, _), expected)| number == expected).count();
        let count = [4, 2, 1].into_iter().find(|c| *c <= run).expect("a run has a first");
        at.store_ones_before(counters, first, count as u32);
        rest = &rest[count..];
    }
    for (_, call) in group {
        call.erase();
    }
}

/// The instruction before which a block's probe goes: behind what must come first, and, in the entry, behind the
/// instructions without a line that make up the prologue, so that debuggers stop where they did.
fn point_in(block: Block, entry: bool) -> Inst {
    let leading = |i: &Inst| matches!(i.opcode(), Opcode::LLVMPHI | Opcode::LLVMLandingPad | Opcode::LLVMAlloca);
    let mut body = block.instructions().skip_while(leading);
    let first = body.next().expect("a block has a terminator");
    if !entry || first.location().is_some() {
        return first;
    }
    let mut rest = std::iter::once(first).chain(body);
    rest.find(|i| i.location().is_some()).unwrap_or(first)
}
