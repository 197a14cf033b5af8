//! A function's control flow as plain data: blocks, statements, decisions.

use super::sources::Sources;
use super::stops::Stops;
use crate::llvm::{Block, Callee, Function, Inst, Opcode};
use rustc_hash::FxHashMap as HashMap;
use unseen_abi::manifest::{Label, Place};

/// The blocks in the order of the function; the first is the entry.
#[derive(Debug, Clone, Default)]
pub struct Cfg {
    /// The blocks.
    pub blocks: Vec<Node>,
}

/// One block.
#[derive(Debug, Clone, Default)]
pub struct Node {
    /// Where its terminator may go, in the terminator's order.
    pub successors: Vec<usize>,
    /// Where it goes if the call that ends it unwinds; also among `successors`.
    pub unwinds_to: Option<usize>,
    /// The decision of the source that its terminator takes.
    pub decision: Option<Decision>,
    /// Whether control may enter it without reaching its end.
    pub stops: bool,
    /// The source locations that carry code, each once.
    pub statements: Vec<Place>,
}

/// A decision.
#[derive(Debug, Clone)]
pub struct Decision {
    /// Where it is taken.
    pub place: Place,
    /// One label per successor.
    pub labels: Vec<Label>,
}

impl Cfg {
    /// Reads a function.
    pub fn of(function: Function, stops: &Stops, sources: &mut Sources) -> Cfg {
        // Until LLVM splits a coroutine, the edges out of its suspend points are not the program's.
        let coroutine = function.has_attribute("presplitcoroutine");
        let blocks = function.blocks();
        let numbers: HashMap<Block, usize> = blocks.iter().enumerate().map(|(i, b)| (*b, i)).collect();
        let node = |block: &Block| {
            let terminator = block.terminator();
            let successors: Vec<usize> = terminator.successors().iter().map(|b| numbers[b]).collect();
            let invoke = terminator.opcode() == Opcode::LLVMInvoke;
            let decision = if coroutine { None } else { decision(terminator, &successors, sources) };
            Node {
                decision,
                stops: block.instructions().any(|i| stops.at(i)),
                statements: statements(*block, sources),
                unwinds_to: if invoke { successors.last().copied() } else { None },
                successors,
            }
        };
        Cfg { blocks: blocks.iter().map(node).collect() }
    }
}

fn decision(terminator: Inst, successors: &[usize], sources: &mut Sources) -> Option<Decision> {
    // Whether a sanitizer's check fails is nothing that the source decides.
    if terminator.is_added_check() {
        return None;
    }
    let labels = match (terminator.opcode(), successors) {
        (Opcode::LLVMBr, [yes, no]) if yes != no => vec![Label::True, Label::False],
        (Opcode::LLVMSwitch, [default, cases @ ..]) if cases.iter().any(|c| c != default) => {
            std::iter::once(Label::Default).chain(terminator.case_values().into_iter().map(Label::Case)).collect()
        }
        _ => return None,
    };
    Some(Decision { place: sources.place(terminator)?, labels })
}

/// The locations in a block that carry code.
///
/// Jumps are glue between statements: they count only where the block has nothing else (`break;` under an `if`). A
/// return of a value counts, unless it is the closing brace's: then the result is loaded at the same place. What
/// only passes an exception on, or ends the program because of a second one, does not count.
fn statements(block: Block, sources: &mut Sources) -> Vec<Place> {
    let terminator = block.terminator();
    let pad = block.instructions().next().is_some_and(|i| i.opcode() == Opcode::LLVMLandingPad);
    let unwinding = pad || terminator.opcode() == Opcode::LLVMResume;
    if pad && terminator.opcode() == Opcode::LLVMUnreachable {
        return Vec::new();
    }
    let mut found: Vec<Place> = Vec::new();
    let mut add = |place: Option<Place>| found.extend(place.filter(|p| !found.contains(p)));
    let mut loaded = None;
    for inst in block.instructions().filter(|i| carries_code(*i)) {
        let place = sources.place(inst);
        let call = matches!(inst.opcode(), Opcode::LLVMCall | Opcode::LLVMInvoke);
        if inst.opcode() == Opcode::LLVMLoad && place == sources.place(terminator) {
            loaded = place;
        } else if call || !unwinding {
            add(place);
        }
    }
    let place = sources.place(terminator);
    match terminator.opcode() {
        Opcode::LLVMRet if loaded.is_some() => {}
        Opcode::LLVMRet if terminator.operand_count() > 0 => add(place),
        Opcode::LLVMRet => found.extend(place.filter(|_| found.is_empty())),
        Opcode::LLVMBr if terminator.successors().len() == 1 => found.extend(place.filter(|_| found.is_empty())),
        Opcode::LLVMResume | Opcode::LLVMUnreachable => {}
        _ => {
            add(loaded);
            add(place);
        }
    }
    found
}

/// Whether an instruction other than a terminator may become code of its own.
fn carries_code(inst: Inst) -> bool {
    match inst.opcode() {
        Opcode::LLVMAlloca | Opcode::LLVMPHI | Opcode::LLVMLandingPad => false,
        Opcode::LLVMBr | Opcode::LLVMSwitch | Opcode::LLVMRet | Opcode::LLVMResume | Opcode::LLVMUnreachable => false,
        Opcode::LLVMCall => match inst.callee() {
            Callee::Direct(function) => !function.intrinsic_name().is_some_and(|name| is_marker(&name)),
            _ => true,
        },
        _ => true,
    }
}

/// Intrinsics that only tell the optimiser something.
fn is_marker(name: &str) -> bool {
    name.starts_with("llvm.dbg.")
        || name.starts_with("llvm.lifetime.")
        || name.starts_with("llvm.invariant.")
        || matches!(name, "llvm.assume" | "llvm.experimental.noalias.scope.decl" | "llvm.var.annotation")
}
