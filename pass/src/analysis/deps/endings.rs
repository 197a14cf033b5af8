//! Ways that do not return: those that exit, panic, throw or jump away.
//!
//! What is nondeterministic or hidden on such a way says nothing of calls that return. It does where the way comes back: in a
//! function that catches what is thrown, or to which a callee jumps back.

use super::body::{Body, Callee, Op, Program};
use super::components::components;
use super::order::successors;
use super::whole::graph;

/// Cuts what follows calls that never return, in the whole program.
pub fn cut(program: &mut Program) {
    let returning = returning(program);
    let count = program.functions.len();
    let never = |op: &Op| match op {
        Op::Call { callee: Callee::Function(f), maybe: false, .. } => !returning[*f as usize],
        Op::Call { callee: Callee::Group(g), maybe: false, .. } => !returning[count + *g as usize],
        _ => false,
    };
    for body in program.functions.iter_mut().filter_map(|f| f.body.as_mut()) {
        for block in &mut body.blocks {
            let insts = &body.insts[block.start as usize..block.end as usize];
            let Some(last) = insts.iter().position(|inst| never(&inst.op)) else { continue };
            let end = block.start + last as u32 + 1;
            // Only the call at the end of a block throws to another block.
            block.unwind = block.unwind.filter(|_| end == block.end);
            block.end = end;
            block.next.clear();
        }
    }
}

/// Which functions, and then groups, may return.
fn returning(program: &Program) -> Vec<bool> {
    let graph = graph(program);
    let all: Vec<u32> = (0..graph.len() as u32).collect();
    let mut returning = vec![false; graph.len()];
    for component in components(&graph, &all) {
        loop {
            let mut changed = false;
            for node in &component {
                let node = *node as usize;
                if !returning[node] && may_return(program, node, &returning) {
                    (returning[node], changed) = (true, true);
                }
            }
            if !changed {
                break;
            }
        }
    }
    returning
}

fn may_return(program: &Program, node: usize, returning: &[bool]) -> bool {
    let count = program.functions.len();
    let Some(function) = program.functions.get(node) else {
        let group = &program.groups[node - count];
        return group.open || group.members.iter().any(|f| returning[*f as usize]);
    };
    let Some(body) = &function.body else { return !function.noreturn };
    let mut seen = vec![false; body.blocks.len()];
    let mut work = vec![0];
    while let Some(number) = work.pop() {
        if std::mem::replace(&mut seen[number as usize], true) {
            continue;
        }
        let block = &body.blocks[number as usize];
        let mut goes_on = true;
        for index in block.start..block.end {
            let comes_back = match &body.insts[index as usize].op {
                Op::Return(_) => return true,
                Op::Call { callee: Callee::Function(f), maybe: false, .. } => returning[*f as usize],
                Op::Call { callee: Callee::Group(g), maybe: false, .. } => returning[count + *g as usize],
                _ => true,
            };
            if !comes_back {
                goes_on = false;
                if index + 1 == block.end {
                    work.extend(block.unwind);
                }
                break;
            }
        }
        if goes_on {
            work.extend(successors(body, number));
        }
    }
    false
}

/// Which parts of a function are on ways that return.
pub struct Endings {
    /// By block: it is reached.
    reached: Vec<bool>,
    /// By block: from there the function may return.
    returning: Vec<bool>,
    /// The function never returns, or callees may jump back into it.
    none: bool,
}

impl Endings {
    pub fn of(body: &Body, order: &[u32]) -> Endings {
        let mut reached = vec![false; body.blocks.len()];
        order.iter().for_each(|b| reached[*b as usize] = true);
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); body.blocks.len()];
        let mut work = Vec::new();
        for number in order {
            successors(body, *number).for_each(|next| before[next as usize].push(*number));
            let block = &body.blocks[*number as usize];
            let insts = &body.insts[block.start as usize..block.end as usize];
            if insts.iter().any(|inst| matches!(inst.op, Op::Return(_))) {
                work.push(*number);
            }
        }
        let none = work.is_empty() || body.jumps_back;
        let mut returning = vec![false; body.blocks.len()];
        while let Some(number) = work.pop() {
            if !std::mem::replace(&mut returning[number as usize], true) {
                work.append(&mut before[number as usize]);
            }
        }
        Endings { reached, returning, none }
    }

    pub fn is_reached(&self, block: u32) -> bool {
        self.reached[block as usize]
    }

    /// Whether what happens in a block is only on ways that do not return.
    pub fn ends(&self, block: u32) -> bool {
        !self.none && !self.returning[block as usize]
    }

    /// The same for what a callee does that an instruction of the block calls; `ends`: on ways on which the callee does not
    /// return.
    pub fn callee_ends(&self, body: &Body, block: u32, index: usize, ends: bool) -> bool {
        if !ends {
            return self.ends(block);
        }
        let last = index + 1 == body.blocks[block as usize].end as usize;
        let unwind = body.blocks[block as usize].unwind.filter(|_| last);
        !self.none && unwind.is_none_or(|to| !self.returning[to as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::super::body::{Block, Function, Inst, Operand};
    use super::super::paths::Paths;
    use super::super::summary::Summary;
    use super::super::whole;
    use super::*;
    use unseen_abi::deps::Reason;

    fn body(blocks: Vec<(Vec<Op>, Vec<u32>, Option<u32>)>) -> Body {
        let mut body = Body::default();
        for (ops, next, unwind) in blocks {
            let start = body.insts.len() as u32;
            body.insts.extend(ops.into_iter().map(|op| Inst { op, place: None }));
            body.blocks.push(Block { start, end: body.insts.len() as u32, next, unwind });
        }
        body
    }

    fn call(f: u32) -> Op {
        Op::Call { callee: Callee::Function(f), args: Vec::new(), maybe: false, ignored: false }
    }

    fn hidden() -> Op {
        Op::Opaque(Reason::Assembly, String::new())
    }

    fn back() -> Op {
        Op::Return(Operand::Number(0))
    }

    /// Of each function: nothing, or whether its reason is only for calls that do not return.
    fn solve(bodies: Vec<Body>) -> Vec<Option<bool>> {
        let functions = bodies.into_iter().map(|b| Function { body: Some(b), ..Function::default() });
        let mut program = Program { functions: functions.collect(), ..Program::default() };
        cut(&mut program);
        let summaries = whole::solve(&program, &mut Paths::default(), |_, _| Summary::default());
        summaries.iter().map(|s| s.causes.first().map(|c| c.ends)).collect()
    }

    #[test]
    fn what_is_hidden_on_the_way_out_holds_where_the_way_comes_back() {
        let dies = body(vec![(vec![hidden()], vec![], None)]);
        // if (..) dies(); return
        let may_die = body(vec![
            (vec![], vec![1, 2], None),
            (vec![call(0), hidden()], vec![2], None),
            (vec![back()], vec![], None),
        ]);
        let catches = |f: u32| body(vec![(vec![call(f)], vec![1], Some(1)), (vec![back()], vec![], None)]);
        let cleans_up =
            body(vec![(vec![call(1)], vec![1], Some(2)), (vec![back()], vec![], None), (vec![], vec![], None)]);
        let mut jumped_to = body(vec![(vec![call(1), back()], vec![], None)]);
        jumped_to.jumps_back = true;
        let clean = body(vec![(vec![back()], vec![], None)]);
        let ends = solve(vec![dies, may_die, catches(1), cleans_up, jumped_to, catches(0), clean]);
        let (always, at_end) = (Some(false), Some(true));
        assert_eq!(ends, [always, at_end, always, at_end, always, always, None]);
    }

    #[test]
    fn functions_that_only_call_each_other_never_return() {
        let circle = |f: u32| body(vec![(vec![call(f), back()], vec![], None)]);
        let after = body(vec![(vec![call(0), hidden(), back()], vec![], None)]);
        assert_eq!(solve(vec![circle(1), circle(0), after]), [None, None, None]);
    }
}
