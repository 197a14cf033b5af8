//! Local variables for pointers, as code that is not optimised keeps them on the stack: where nobody has the variable's
//! address, what is loaded is what was stored last on some way. Values are solved without regard to order, so each load is
//! told here which stores it may see.
//!
//! ```text
//! store a -> v             store a -> v
//! x = load v               x = copy a
//! store b -> v    becomes  store b -> v
//! y = load v               y = copy b
//! ```

use super::body::{Body, Loaded, Op, Operand, Program};
use super::flow::private;
use super::order::{reverse_postorder, successors};
use crate::analysis::bits::Bits;
use rustc_hash::FxHashMap as HashMap;

/// How many stores a load may see before it is left alone.
const SEEN: usize = 12;
/// How many stores of one function are told apart.
const STORES: usize = 4_000;

/// Replaces loads of such variables, in the whole program.
pub fn promote(program: &mut Program) {
    for body in program.functions.iter_mut().filter_map(|f| f.body.as_mut()) {
        // Who jumps back finds what was stored since.
        if !body.jumps_back {
            Variables::of(body).replace_loads(body);
        }
    }
}

/// The stores to a function's variables, numbered.
struct Variables {
    /// By instruction: the variable's number, for those that hold nothing but pointers.
    variable: HashMap<u32, u32>,
    /// By number: the variable and what is stored.
    stores: Vec<(u32, Operand)>,
    /// By instruction.
    number: HashMap<u32, u32>,
    /// By variable: its stores.
    of: Vec<Vec<u32>>,
}

impl Variables {
    fn of(body: &Body) -> Variables {
        let mut plain = private(body);
        body.mixed.iter().for_each(|i| plain[*i as usize] = false);
        for inst in &body.insts {
            let (address, fine) = match &inst.op {
                Op::Load { address, kind, volatile, .. } => (address, *kind == Loaded::Pointer && !volatile),
                Op::Store { address, size, maybe, volatile, .. } => (address, *size == 8 && !maybe && !volatile),
                _ => continue,
            };
            if let (Operand::Inst(i), false) = (address, fine) {
                plain[*i as usize] = false;
            }
        }
        let variables = plain.iter().enumerate().filter(|(_, plain)| **plain);
        let variable: HashMap<u32, u32> = variables.enumerate().map(|(n, (i, _))| (i as u32, n as u32)).collect();
        let mut all = Variables {
            of: vec![Vec::new(); variable.len()],
            variable,
            stores: Vec::new(),
            number: HashMap::default(),
        };
        for (index, inst) in body.insts.iter().enumerate() {
            if let Op::Store { address: Operand::Inst(to), value, .. } = inst.op
                && let Some(variable) = all.variable.get(&to)
            {
                let number = all.stores.len() as u32;
                all.number.insert(index as u32, number);
                all.of[*variable as usize].push(number);
                all.stores.push((*variable, value));
            }
        }
        all
    }

    fn replace_loads(&self, body: &mut Body) {
        if self.stores.is_empty() || self.stores.len() > STORES {
            return;
        }
        let order = reverse_postorder(body);
        let mut before: Vec<Bits> = vec![Bits::none(self.stores.len()); body.blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for number in &order {
                let mut state = before[*number as usize].clone();
                let block = &body.blocks[*number as usize];
                (block.start..block.end).for_each(|index| self.step(index, &mut state));
                for next in successors(body, *number) {
                    changed |= before[next as usize].add_all(&state);
                }
            }
        }
        for number in order {
            let mut state = before[number as usize].clone();
            let block = body.blocks[number as usize].clone();
            for index in block.start..block.end {
                self.step(index, &mut state);
                let inst = &mut body.insts[index as usize];
                if let Op::Load { address: Operand::Inst(from), .. } = inst.op
                    && let Some(variable) = self.variable.get(&from)
                {
                    let seen = self.of[*variable as usize].iter().filter(|store| state.has(**store as usize));
                    let seen: Vec<Operand> = seen.map(|store| self.stores[*store as usize].1).collect();
                    if seen.len() <= SEEN {
                        inst.op = Op::Copy(seen);
                    }
                }
            }
        }
    }

    /// What a store leaves of those before it.
    fn step(&self, index: u32, state: &mut Bits) {
        if let Some(store) = self.number.get(&index) {
            let (variable, _) = self.stores[*store as usize];
            self.of[variable as usize].iter().for_each(|other| state.remove(*other as usize));
            state.insert(*store as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::body::{Block, Function, Inst};
    use super::*;

    fn load(from: u32) -> Op {
        let address = Operand::Inst(from);
        Op::Load { address, size: 8, parts: vec![0], kind: Loaded::Pointer, volatile: false, data: false }
    }

    fn store(to: u32, value: Operand) -> Op {
        Op::Store { address: Operand::Inst(to), value, size: 8, maybe: false, volatile: false }
    }

    #[test]
    fn loads_see_the_stores_that_reach_them() {
        // v = 0; x = v; loop { y = v; v = 1 }; but w's address is known.
        let ops = [
            Op::Alloca,
            Op::Alloca,
            store(0, Operand::Param(0)),
            store(1, Operand::Param(0)),
            Op::Return(Operand::Inst(1)),
            load(0),
            load(0),
            load(1),
            store(0, Operand::Param(1)),
        ];
        let insts = ops.into_iter().map(|op| Inst { op, place: None }).collect();
        let block = |start, end, next: &[u32]| Block { start, end, next: next.to_vec(), unwind: None };
        let blocks = vec![block(0, 6, &[1]), block(6, 9, &[1])];
        let body = Body { insts, blocks, ..Body::default() };
        let mut program =
            Program { functions: vec![Function { body: Some(body), ..Function::default() }], ..Program::default() };
        promote(&mut program);
        let insts = &program.functions[0].body.as_ref().expect("code").insts;
        let seen = |index: usize| match &insts[index].op {
            Op::Copy(of) => Some(of.clone()),
            _ => None,
        };
        assert_eq!(seen(5), Some(vec![Operand::Param(0)]));
        assert_eq!(seen(6), Some(vec![Operand::Param(0), Operand::Param(1)]));
        assert_eq!(seen(7), None);
    }
}
