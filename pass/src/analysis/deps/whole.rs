//! The whole program: callees before callers, functions that call each other until nothing changes.

use super::body::{Body, Callee, Group, Op, Program};
use super::components::components;
use super::endings::Endings;
use super::order::reverse_postorder;
use super::paths::Paths;
use super::solve::{Known, Solver};
use super::summary::{Cause, Summary};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
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
            known.together(program, paths, &graph, component);
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

    /// Functions that call each other. Those of which something is hidden are set apart: who calls them only on ways that do
    /// not return is solved without them.
    fn together(&mut self, program: &Program, paths: &mut Paths, graph: &[Vec<u32>], component: &[u32]) {
        let mut hidden = self.hidden_among(program, component);
        if hidden.is_empty() {
            self.until_stable(program, paths, component);
            hidden = self.hidden_among(program, component);
            if hidden.is_empty() {
                return;
            }
        }
        let (apart, rest): (Vec<u32>, Vec<u32>) = component.iter().partition(|node| hidden.contains(node));
        for node in &apart {
            if let Some(new) = self.node(program, paths, *node as usize, true) {
                let old = std::mem::take(&mut self.of[*node as usize].causes);
                self.of[*node as usize] = new;
                old.into_iter().for_each(|cause| self.of[*node as usize].add_cause(cause));
            }
        }
        self.share_causes(&apart);
        // What was found of the others took into account what is hidden.
        rest.iter().for_each(|node| self.of[*node as usize] = Summary::default());
        // By their places among themselves: the graph of all may be large.
        let places: HashMap<u32, u32> = rest.iter().enumerate().map(|(place, node)| (*node, place as u32)).collect();
        let callees = |node: &u32| graph[*node as usize].iter().filter_map(|to| places.get(to).copied()).collect();
        let inner: Vec<Vec<u32>> = rest.iter().map(callees).collect();
        let all: Vec<u32> = (0..rest.len() as u32).collect();
        for part in components(&inner, &all) {
            let alone = part.len() == 1 && !inner[part[0] as usize].contains(&part[0]);
            let nodes: Vec<u32> = part.iter().map(|place| rest[*place as usize]).collect();
            if alone {
                let node = nodes[0] as usize;
                if let Some(summary) = self.node(program, paths, node, false) {
                    self.of[node] = summary;
                }
            } else {
                self.together(program, paths, graph, &nodes);
            }
        }
    }

    /// Those of which something is hidden, by their own code or by that of callees.
    fn hidden_among(&self, program: &Program, component: &[u32]) -> HashSet<u32> {
        let mut callers: HashMap<u32, Vec<u32>> = component.iter().map(|node| (*node, Vec::new())).collect();
        let mut work: Vec<u32> = Vec::new();
        for node in component {
            let (hides, callees) = self.returning_calls(program, *node);
            if hides || self.of[*node as usize].hides() {
                work.push(*node);
            }
            for callee in callees {
                callers.entry(callee).and_modify(|list| list.push(*node));
            }
        }
        let mut hidden: HashSet<u32> = work.iter().copied().collect();
        while let Some(node) = work.pop() {
            work.extend(callers[&node].iter().filter(|caller| hidden.insert(**caller)));
        }
        hidden
    }

    /// Whether something is hidden in a function or group, by what is known now, and whom it calls on ways that return.
    fn returning_calls(&self, program: &Program, node: u32) -> (bool, Vec<u32>) {
        let Some(function) = program.functions.get(node as usize) else {
            let group = &program.groups[node as usize - self.count];
            return (group.open, group.members.clone());
        };
        let Some(body) = &function.body else { return (false, Vec::new()) };
        let order = reverse_postorder(body);
        let endings = Endings::of(body, &order);
        let mut callees = Vec::new();
        for block in order.iter().filter(|block| !endings.ends(**block)) {
            let block = &body.blocks[*block as usize];
            for inst in &body.insts[block.start as usize..block.end as usize] {
                match inst.op {
                    Op::Call { callee: Callee::Function(f), .. } => callees.push(f),
                    Op::Call { callee: Callee::Group(g), .. } => callees.push(self.count as u32 + g),
                    _ => {}
                }
            }
        }
        callees.sort_unstable();
        callees.dedup();
        (self.is_hidden(body, &endings), callees)
    }

    /// Solves functions again and again until nothing changes, or something is hidden.
    fn until_stable(&mut self, program: &Program, paths: &mut Paths, component: &[u32]) {
        for _ in 0..ROUNDS {
            let mut stable = true;
            for node in component {
                let node = *node as usize;
                let Some(new) = self.node(program, paths, node, false) else { continue };
                let mut joined = self.of[node].clone();
                joined.join(paths, &new);
                if joined != self.of[node] {
                    self.of[node] = joined;
                    stable = false;
                }
            }
            if stable || component.iter().any(|n| self.of[*n as usize].hides()) {
                return;
            }
        }
        for node in component {
            self.of[*node as usize].add_cause(Cause::new(Reason::Limit));
        }
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
