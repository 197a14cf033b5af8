//! What is caught. An exception was made after the function was entered, and is nobody's state; the pointers in it may be.

use super::body::Operand;
use crate::llvm::memory::{Kind, Value};
use crate::llvm::{Block, Callee, Function, Inst, Opcode};
use rustc_hash::FxHashSet as HashSet;
use unseen_abi::deps::Reason;

/// C++: begins a handler, throws again what is being handled, and the first letters of the types of pointers.
const BEGINS: &str = "__cxa_begin_catch";
const RETHROWS: &str = "__cxa_rethrow";
const POINTER_TYPE: &str = "_ZTIP";

/// The exception of a landing pad. Where a pointer is caught, C++ gives handlers the pointer itself, which may lead
/// anywhere.
pub fn caught(pad: Inst) -> Operand {
    let is_pointer = |clause: &Value| match clause.kind() {
        Kind::Variable(info) => info.name().starts_with(POINTER_TYPE),
        _ => false,
    };
    if pad.value().operands().iter().any(is_pointer) { Operand::Unknown(Reason::Exception) } else { Operand::Thrown }
}

/// Whether a call throws again what a caller is handling: it is older than the function that throws, and may be older than the
/// one that catches it. What was caught here is not.
pub fn throws_older(called: Function, call: Inst, entry: Block) -> bool {
    called.name() == RETHROWS && is_reached_without_handler(call.block(), entry)
}

/// Whether a block is reached on some way from the entry on which nothing was caught.
fn is_reached_without_handler(wanted: Block, entry: Block) -> bool {
    let (mut seen, mut work) = (HashSet::from_iter([entry]), vec![entry]);
    while let Some(block) = work.pop() {
        let begins = |inst: Inst| {
            matches!(inst.opcode(), Opcode::LLVMCall | Opcode::LLVMInvoke)
                && matches!(inst.callee(), Callee::Direct(function) if function.name() == BEGINS)
        };
        if block.instructions().any(begins) {
            continue;
        }
        if block == wanted {
            return true;
        }
        work.extend(block.terminator().successors().into_iter().filter(|next| seen.insert(*next)));
    }
    false
}
