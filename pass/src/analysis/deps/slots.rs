//! How the pointer to a function that is called was found.

use super::extract::{Extractor, gcd};
use super::targets::Slot;
use crate::llvm::Opcode;
use crate::llvm::memory::{Kind, Layout, Value};

impl Extractor<'_> {
    /// How a called pointer was found.
    pub(super) fn slot(&self, called: Value) -> Slot {
        self.table(called).unwrap_or_else(|| by_loads(called, self.layout))
    }

    /// The constant table of the program's that a function pointer is loaded from.
    fn table(&self, called: Value) -> Option<Slot> {
        let Kind::Instruction(load) = called.kind() else { return None };
        if load.opcode() != Opcode::LLVMLoad {
            return None;
        }
        let (mut base, mut at, mut stride) = (load.value().operands()[0], 0i64, 0);
        loop {
            let is_offset = match base.kind() {
                Kind::Instruction(inst) => inst.opcode() == Opcode::LLVMGetElementPtr,
                Kind::Expression(opcode) => opcode == Opcode::LLVMGetElementPtr,
                _ => false,
            };
            if !is_offset {
                break;
            }
            let offset = base.offset(self.layout);
            stride = offset.variable.iter().fold(stride, |all, (_, size)| gcd(all, *size));
            (base, at) = (offset.base, at.checked_add(offset.at)?);
        }
        match base.kind() {
            Kind::Variable(variable) if variable.is_constant() && variable.initial().is_some() => {
                Some(Slot::Table { global: self.globals[&variable], at, stride })
            }
            _ => None,
        }
    }
}

/// In a table of virtual functions, at some offset, or otherwise.
fn by_loads(called: Value, layout: Layout) -> Slot {
    let Kind::Instruction(load) = called.kind() else { return Slot::Anywhere };
    if load.opcode() != Opcode::LLVMLoad {
        return Slot::Anywhere;
    }
    let (mut table, mut at) = (load.value().operands()[0], 0);
    let gep = match table.kind() {
        Kind::Instruction(inst) => inst.opcode() == Opcode::LLVMGetElementPtr,
        _ => false,
    };
    if gep {
        let offset = table.offset(layout);
        if !offset.variable.is_empty() {
            return Slot::Anywhere;
        }
        (table, at) = (offset.base, offset.at);
    }
    if load.has_metadata("invariant.load") {
        return Slot::Trait(at);
    }
    let Kind::Instruction(pointer) = table.kind() else { return Slot::Anywhere };
    if pointer.opcode() != Opcode::LLVMLoad {
        return Slot::Anywhere;
    }
    match pointer.loads_vtable_pointer() {
        Some(true) => Slot::Virtual(at),
        Some(false) => Slot::Anywhere,
        None => Slot::Perhaps(at),
    }
}
