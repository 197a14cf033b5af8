//! What loads, stores and initial values access, as far as the source says, for [`super::flow`].

use super::body::Operand;
use super::extract::{Draft, Extractor};
use super::flow::{Held, Place};
use crate::llvm::memory::{Kind, Shape, Type, Value};
use crate::llvm::{Inst, Opcode};
use rustc_hash::FxHashMap as HashMap;

impl Extractor<'_> {
    /// Notes in which variable the functions lie that are in an initial value: a field, or that of one pointer.
    pub(super) fn initial(&mut self, value: Value, field: Option<(Type, u64)>, place: Option<Place>) {
        if let Kind::Aggregate = value.kind() {
            let ty = value.ty();
            let vector = ty.shape() == Shape::Vector;
            for i in 0..if vector { 0 } else { ty.part_count() as u32 } {
                let field = (ty.shape() == Shape::Struct).then(|| (ty, self.layout.offset(ty, i)));
                self.initial(value.part(i), field, None);
            }
        } else if let Operand::Function(function) = self.constant(value) {
            match field {
                Some((ty, at)) => self.initial.push((ty, at, function)),
                // Elements of arrays are no fields.
                None => self.flow.initial.extend(place.map(|place| (place, function))),
            }
        }
    }

    /// Finds the fields that functions in initial values lie in, when all types are known. The linker takes structs that have the same parts
    /// for one, so that the IR's names of types say nothing.
    pub(super) fn place_initial(&mut self) {
        self.flow.is_told = self.tags.has_plain_names();
        let layout = self.layout;
        let mut known: HashMap<(Type, u64), Vec<u32>> = HashMap::default();
        for (ty, at, function) in std::mem::take(&mut self.initial) {
            let fields = known.entry((ty, at)).or_insert_with(|| self.tags.initial_fields(ty, at, layout));
            self.flow.initial.extend(fields.iter().map(|f| (Place::Field(*f), function)));
        }
    }

    /// Notes what the source says that a load or store accesses, elsewhere than in a stack variable. Returns whether that is
    /// data.
    pub(super) fn note_held(&mut self, inst: Inst, address: Value, draft: &mut Draft) -> bool {
        let alloca = matches!(address.kind(), Kind::Instruction(of) if of.opcode() == Opcode::LLVMAlloca);
        let held = match self.tags.held(inst) {
            Held::Data => return true,
            Held::Untold => return false,
            _ if alloca => return false,
            Held::Pointer if is_unnamed(address) => Held::Unnamed,
            held => held,
        };
        draft.held.push((draft.body.insts.len() as u32, held));
        false
    }
}

/// Whether an address is that of an unnamed argument: where the list says that they lie.
fn is_unnamed(address: Value) -> bool {
    const LIST: &str = "struct.__va_list_tag";
    let in_list = |value: Value| match value.kind() {
        Kind::Instruction(gep) if gep.opcode() == Opcode::LLVMGetElementPtr => {
            gep.value().source_type().name().is_some_and(|name| name.split('.').take(2).eq(LIST.split('.')))
        }
        _ => false,
    };
    let from_list = |mut value: Value| loop {
        let Kind::Instruction(inst) = value.kind() else { return false };
        match inst.opcode() {
            Opcode::LLVMGetElementPtr => value = value.operands()[0],
            opcode => return opcode == Opcode::LLVMLoad && in_list(value.operands()[0]),
        }
    };
    match address.kind() {
        Kind::Instruction(phi) if phi.opcode() == Opcode::LLVMPHI => phi.incoming().into_iter().all(from_list),
        _ => from_list(address),
    }
}
