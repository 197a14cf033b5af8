//! Mechanism `cover`: a probe sets one byte.
//!
//! ```text
//! before                              after
//!   br i1 %c, label %then, label %end   br i1 %c, label %then, label %edge
//! then:                               then:
//!   call void @f()                      store i8 1, ptr @__unseen_counters
//!   br label %end                       call void @f()
//! end:                                  br label %end
//!                                     edge:
//!                                       store i8 1, ptr getelementptr (i8, ptr @__unseen_counters, i64 1)
//!                                       br label %end
//!                                     end:
//! ```
//!
//! Where the program's accesses carry type-based alias tags, so do the probes, with a type of their own: the optimiser need not
//! fear that a probe changes what the program reads.
//!
//! A plain store: it never overflows back to "not reached", needs no load, and merges with its like.

use crate::llvm::{AliasTag, Block, Function, Global, Inst, Opcode};
use crate::plan::{Plan, Site};

/// Attributes that a function which sets counters no longer has.
const BROKEN: [&str; 2] = ["memory", "speculatable"];

/// Puts the probes of `plan` into `functions`.
pub fn run(functions: &[Function], plan: &Plan, counters: Global) {
    for planned in &plan.functions {
        let Some(cover) = planned.cover.as_ref().filter(|c| !c.sites.is_empty()) else { continue };
        let function = functions[planned.index];
        for name in BROKEN {
            function.remove_attribute(name);
        }
        // Block numbers are those of the function as it was planned: resolve them before edges are split.
        let blocks = function.blocks();
        let tag = function.own_alias_tag();
        for (number, site) in (cover.first..).zip(&cover.sites) {
            match *site {
                Site::Block(block) => set(point_in(blocks[block], block == 0), counters, number, tag),
                Site::Edge(block, successor) => {
                    let terminator = blocks[block].terminator();
                    let edge = terminator.split_edge(successor).expect("edges of br and switch can be split");
                    set(edge.terminator(), counters, number, tag);
                }
            }
        }
    }
}

fn set(before: Inst, counters: Global, number: u32, tag: Option<AliasTag>) {
    before.store_one_before(counters, number, before.location(), tag);
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
