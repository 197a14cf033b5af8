//! The whole program: callees before callers, functions that call each other until nothing changes.

use super::body::{Body, Callee, Group, Op, Program};
use super::components::components;
use super::endings::Endings;
use super::order::reverse_postorder;
use super::paths::Paths;
use super::solve::{Known, Solver};
use super::summary::{Cause, Summary};
use unseen_abi::deps::Reason;

/// How often functions that call each other are solved before they are given up.
const ROUNDS: usize = 12;

/// Solves every function. `external` says what functions without code do.
pub fn solve(program: &Program, paths: &mut Paths, external: impl FnMut(&mut Paths, u32) -> Summary) -> Vec<Summary> {
    let count = program.functions.len();
    let graph = graph(program);
    let all: Vec<u32> = (0..graph.len() as u32).collect();
    let components = components(&graph, &all);
    let mut known =
        Summaries { of: vec![Summary::default(); graph.len()], component: vec![0; graph.len()], current: 0, count };
    fill_external(program, paths, external, &mut known);
    for (number, component) in components.iter().enumerate() {
        for node in component {
            known.component[*node as usize] = number as u32 + 1;
        }
    }
    for (number, component) in components.iter().enumerate() {
        known.current = number as u32 + 1;
        let alone = component.len() == 1 && !graph[component[0] as usize].contains(&component[0]);
        if alone {
            let node = component[0] as usize;
            if let Some(summary) = known.node(program, paths, node, false) {
                known.of[node] = summary;
            }
        } else {
            known.together(program, paths, component);
        }
    }
    known.of.truncate(count);
    known.of
}

fn fill_external(
    program: &Program,
    paths: &mut Paths,
    mut external: impl FnMut(&mut Paths, u32) -> Summary,
    known: &mut Summaries,
) {
    for (index, function) in program.functions.iter().enumerate() {
        if function.body.is_none() {
            known.of[index] = external(paths, index as u32);
        }
    }
}

/// Who calls whom: functions, then groups.
pub(super) fn graph(program: &Program) -> Vec<Vec<u32>> {
    let count = program.functions.len() as u32;
    let callees = |body: &Body| {
        let mut nodes: Vec<u32> = body
            .insts
            .iter()
            .filter_map(|inst| match inst.op {
                Op::Call { callee: Callee::Function(f), .. } => Some(f),
                Op::Call { callee: Callee::Group(g), .. } => Some(count + g),
                _ => None,
            })
            .collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    };
    let functions = program.functions.iter().map(|f| f.body.as_ref().map(callees).unwrap_or_default());
    functions.chain(program.groups.iter().map(|g| g.members.clone())).collect()
}

struct Summaries {
    /// Of functions, then of groups.
    of: Vec<Summary>,
    component: Vec<u32>,
    current: u32,
    count: usize,
}

impl Known for Summaries {
    fn callee(&self, callee: &Callee) -> (&Summary, bool) {
        const NOTHING: &Summary = &Summary::nothing();
        let node = match callee {
            Callee::Function(f) => *f as usize,
            Callee::Group(g) => self.count + *g as usize,
            Callee::Nobody => return (NOTHING, false),
        };
        (&self.of[node], self.component[node] == self.current)
    }
}

impl Summaries {
    /// The summary of a function with code, or of a group, from what is known now.
    fn node(&self, program: &Program, paths: &mut Paths, node: usize, hidden: bool) -> Option<Summary> {
        if node >= self.count {
            return Some(self.group(program, paths, &program.groups[node - self.count]));
        }
        let function = &program.functions[node];
        let body = function.body.as_ref()?;
        let order = reverse_postorder(body);
        let endings = Endings::of(body, &order);
        let hidden = hidden || self.is_hidden(body, &endings);
        let mut solver = Solver::new(paths, program, function, body, self, order);
        solver.solve(hidden);
        Some(solver.collect(&endings))
    }

    fn group(&self, program: &Program, paths: &mut Paths, group: &Group) -> Summary {
        let mut all = Summary::default();
        for member in &group.members {
            let mut one = self.of[*member as usize].clone();
            if program.functions[*member as usize].body.is_some() {
                one.reads.iter_mut().chain(&mut one.writes).for_each(|e| e.via = Some(*member));
                one.causes.iter_mut().for_each(|c| c.via = Some(*member));
            }
            all.join(paths, &one);
        }
        if group.open {
            all.add_cause(Cause::new(Reason::Indirect));
        }
        all
    }

    /// Whether the reads of calls that return are not all known anyway.
    fn is_hidden(&self, body: &Body, endings: &Endings) -> bool {
        let hidden = |block: u32, index: usize| match &body.insts[index].op {
            Op::Opaque(reason, _) => reason.hides() && !endings.ends(block),
            Op::Call { callee: Callee::Nobody, .. } => !endings.ends(block),
            Op::Call { callee, .. } => {
                let mut causes = self.callee(callee).0.causes.iter().filter(|c| c.reason.hides());
                causes.any(|c| !endings.callee_ends(body, block, index, c.ends))
            }
            _ => false,
        };
        (0..body.blocks.len() as u32).filter(|b| endings.is_reached(*b)).any(|number| {
            let block = &body.blocks[number as usize];
            (block.start as usize..block.end as usize).any(|index| hidden(number, index))
        })
    }

    /// Functions that call each other. What is hidden from one is hidden from all.
    fn together(&mut self, program: &Program, paths: &mut Paths, component: &[u32]) {
        let bodies = component.iter().filter_map(|n| program.functions.get(*n as usize)?.body.as_ref());
        let mut hidden =
            bodies.into_iter().any(|body| self.is_hidden(body, &Endings::of(body, &reverse_postorder(body))));
        let mut stable = false;
        for _ in 0..ROUNDS {
            stable = true;
            for node in component {
                let node = *node as usize;
                let Some(new) = self.node(program, paths, node, hidden) else { continue };
                let mut joined = self.of[node].clone();
                joined.join(paths, &new);
                if joined != self.of[node] {
                    self.of[node] = joined;
                    stable = false;
                }
            }
            if stable || hidden {
                break;
            }
            hidden = component.iter().any(|n| self.of[*n as usize].hides());
        }
        if !stable && component.iter().all(|n| !self.of[*n as usize].hides()) {
            for node in component {
                let cause = Cause::new(Reason::Limit);
                self.of[*node as usize].add_cause(cause);
            }
        }
        self.share_causes(component);
    }

    fn share_causes(&mut self, component: &[u32]) {
        let mut all = Summary::default();
        for node in component {
            for cause in &self.of[*node as usize].causes {
                let via = if (*node as usize) < self.count { Some(*node) } else { cause.via };
                all.add_cause(Cause { via, ..cause.clone() });
            }
        }
        for node in component {
            for cause in &all.causes {
                self.of[*node as usize].add_cause(cause.clone());
            }
        }
    }
}
