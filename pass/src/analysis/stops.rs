//! Which calls may not come back: behind them, "the block was entered" does not mean "its end was reached".
//!
//! A call may stop its caller if the callee exits, aborts, unwinds, jumps away, or is not known. Whole program,
//! by fixpoint from "nothing stops". Loops that never end and faults do not count as stopping.

use crate::llvm::{Callee, Function, Inst, Opcode};
use rustc_hash::FxHashMap as HashMap;
use unseen_abi::returns::always_returns;

/// The answer for a module.
pub struct Stops {
    by_function: HashMap<Function, bool>,
}

impl Stops {
    /// Looks at every function.
    pub fn of(functions: &[Function]) -> Stops {
        let mut stops = Stops { by_function: HashMap::default() };
        let mut callers: HashMap<Function, Vec<Function>> = HashMap::default();
        let mut work = Vec::new();
        for function in functions {
            let mut stopping = function.is_inline_copy();
            if function.is_declaration() {
                stopping = !declared_to_return(*function);
            } else {
                for inst in function.blocks().into_iter().flat_map(|b| b.instructions().collect::<Vec<_>>()) {
                    match inst.opcode() {
                        Opcode::LLVMResume => stopping = true,
                        Opcode::LLVMCall | Opcode::LLVMInvoke | Opcode::LLVMCallBr => match known_callee(inst) {
                            Known::Stops => stopping = true,
                            Known::Returns => {}
                            Known::As(callee) => callers.entry(callee).or_default().push(*function),
                        },
                        _ => {}
                    }
                }
            }
            stops.by_function.insert(*function, stopping);
            if stopping {
                work.push(*function);
            }
        }
        while let Some(callee) = work.pop() {
            for caller in callers.remove(&callee).unwrap_or_default() {
                if let Some(stopping @ false) = stops.by_function.get_mut(&caller) {
                    *stopping = true;
                    work.push(caller);
                }
            }
        }
        stops
    }

    /// Whether control may end in this instruction.
    pub fn at(&self, inst: Inst) -> bool {
        match inst.opcode() {
            Opcode::LLVMCall | Opcode::LLVMInvoke | Opcode::LLVMCallBr => match known_callee(inst) {
                Known::Stops => true,
                Known::Returns => false,
                Known::As(callee) => self.by_function.get(&callee).copied().unwrap_or(true),
            },
            _ => false,
        }
    }
}

enum Known {
    Stops,
    Returns,
    As(Function),
}

fn known_callee(call: Inst) -> Known {
    match call.callee() {
        Callee::Assembly => Known::Returns,
        Callee::Indirect => Known::Stops,
        Callee::Direct(function) => match function.intrinsic_name().as_deref() {
            None => Known::As(function),
            Some("llvm.trap" | "llvm.ubsantrap" | "llvm.eh.sjlj.longjmp" | "llvm.eh.resume") => Known::Stops,
            Some(_) => Known::Returns,
        },
    }
}

fn declared_to_return(function: Function) -> bool {
    (function.has_attribute("willreturn") && function.has_attribute("nounwind")) || always_returns(&function.name())
}
