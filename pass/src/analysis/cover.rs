//! Where probes go, so that few of them tell which blocks were entered and which ways decisions went.
//!
//! Every block could have a probe, and every critical edge of a decision. Two rules take probes away again:
//!
//! * forward: a block whose predecessors can go nowhere else counts as entered if one of them was. As within a
//!   block, what follows a call counts even if the call did not return this time, be it that it unwound (llvm-cov counts the
//!   same way);
//! * backward: a block that goes on to blocks which have no other predecessor was entered if one of those was. Not
//!   through calls that may not return: what was entered is never lost.
//!
//! ```text
//!   if (c)        entry: br c            entry     by [0, 1]   (backward)
//!     f();        then:  call f    ->    then      by [0]      probe 0
//!   g();          join:  call g          else edge by [1]      probe 1
//!                                        join      by [0, 1]   (forward)
//! ```

use super::cfg::Cfg;
use super::dominators::Dominators;
use crate::plan::{CoverPlan, Site};
use rustc_hash::FxHashMap as HashMap;
use unseen_abi::manifest::{Arm, Branch, Label, Place, Region};

/// A block is not explained by more probes than this: reading coverage stays cheap, and manifests small.
const MOST: usize = 8;

/// Chooses the probes of a function; the first gets the number `first`.
pub fn place(cfg: &Cfg, first: u32) -> CoverPlan {
    if cfg.blocks.is_empty() {
        return CoverPlan { first, ..CoverPlan::default() };
    }
    let graph = Graph::of(cfg);
    let told_by = graph.told_by();
    let mut numbers = HashMap::default();
    let mut sites = Vec::new();
    for (node, site) in graph.sites.iter().enumerate() {
        if told_by[node] == [node] {
            numbers.insert(node, first + sites.len() as u32);
            sites.push(*site);
        }
    }
    let probes = |node: usize| -> Vec<u32> {
        let mut list: Vec<u32> = told_by[node].iter().map(|n| numbers[n]).collect();
        list.sort_unstable();
        list
    };
    CoverPlan {
        first,
        entry: probes(0),
        regions: regions(cfg, probes),
        branches: cfg.blocks.iter().enumerate().filter_map(|(b, _)| graph.branch(cfg, b, probes)).collect(),
        sites,
    }
}

/// Statements grouped by the probes that tell of them, in the order of the blocks.
fn regions(cfg: &Cfg, probes: impl Fn(usize) -> Vec<u32>) -> Vec<Region> {
    let mut by_probes: HashMap<Vec<u32>, usize> = HashMap::default();
    let mut regions: Vec<Region> = Vec::new();
    for (block, node) in cfg.blocks.iter().enumerate().filter(|(_, n)| !n.statements.is_empty()) {
        let probes = probes(block);
        let index = *by_probes.entry(probes.clone()).or_insert_with(|| {
            regions.push(Region { probes, statements: Vec::new() });
            regions.len() - 1
        });
        regions[index].statements.extend(&node.statements);
    }
    for region in &mut regions {
        region.statements.sort_unstable_by_key(|p: &Place| (p.file, p.line, p.column));
        region.statements.dedup();
    }
    regions
}

/// Blocks and critical edges as nodes: `0..blocks` are the blocks.
struct Graph {
    sites: Vec<Site>,
    successors: Vec<Vec<usize>>,
    predecessors: Vec<Vec<usize>>,
    stops: Vec<bool>,
    /// Where a node goes if nothing unwinds, if that is one place.
    goes_on: Vec<Option<usize>>,
    /// Node that stands for the edge from a block to another.
    edges: HashMap<(usize, usize), usize>,
}

impl Graph {
    fn of(cfg: &Cfg) -> Graph {
        let count = cfg.blocks.len();
        let distinct: Vec<Vec<usize>> = cfg.blocks.iter().map(|b| unique(&b.successors)).collect();
        let mut incoming = vec![0; count];
        for successor in distinct.iter().flatten() {
            incoming[*successor] += 1;
        }
        // Control also comes to the entry from outside.
        incoming[0] += 1;
        let mut graph = Graph {
            sites: (0..count).map(Site::Block).collect(),
            successors: distinct.clone(),
            predecessors: Vec::new(),
            stops: cfg.blocks.iter().map(|b| b.stops).collect(),
            goes_on: Vec::new(),
            edges: HashMap::default(),
        };
        for (block, node) in cfg.blocks.iter().enumerate().filter(|(_, n)| n.decision.is_some()) {
            for (i, target) in distinct[block].iter().enumerate().filter(|(_, t)| incoming[**t] > 1) {
                let edge = graph.sites.len();
                let position = node.successors.iter().position(|s| s == target).expect("a successor");
                graph.sites.push(Site::Edge(block, position));
                graph.successors[block][i] = edge;
                graph.successors.push(vec![*target]);
                graph.stops.push(false);
                graph.edges.insert((block, *target), edge);
            }
        }
        let unwinds_to = |node: usize| cfg.blocks.get(node).and_then(|b| b.unwinds_to);
        for (node, successors) in graph.successors.iter().enumerate() {
            let mut usual = successors.iter().filter(|s| Some(**s) != unwinds_to(node));
            graph.goes_on.push(usual.next().copied().filter(|_| usual.next().is_none()));
        }
        graph.predecessors = vec![Vec::new(); graph.successors.len()];
        for (node, successors) in graph.successors.iter().enumerate() {
            for successor in successors {
                graph.predecessors[*successor].push(node);
            }
        }
        graph
    }

    /// For each node the nodes whose probes tell of it: itself, others, or none if it can't be reached.
    fn told_by(&self) -> Vec<Vec<usize>> {
        let dominators = Dominators::of(&self.successors);
        let mut told: Vec<Option<Vec<usize>>> = vec![None; self.successors.len()];
        for node in dominators.order() {
            told[*node] = Some(self.forward(*node, &told, &dominators).unwrap_or_else(|| vec![*node]));
        }
        let mut told: Vec<Vec<usize>> = told.into_iter().map(Option::unwrap_or_default).collect();
        // Backward, successors first; then whoever was told by a probe that is gone is told by its successors.
        let mut instead: HashMap<usize, Vec<usize>> = HashMap::default();
        for node in dominators.order().iter().rev() {
            if told[*node] == [*node]
                && let Some(successors) = self.backward(*node, &told, &instead)
            {
                instead.insert(*node, successors);
            }
        }
        for list in &mut told {
            if list.iter().any(|n| instead.contains_key(n)) {
                *list = unique(&list.iter().flat_map(|n| through(*n, &instead)).collect::<Vec<_>>());
            }
        }
        told
    }

    /// The probes of the predecessors, if entering one of them means entering `node`.
    fn forward(&self, node: usize, told: &[Option<Vec<usize>>], dominators: &Dominators) -> Option<Vec<usize>> {
        if node == 0 {
            return None;
        }
        let mut probes = Vec::new();
        for from in self.predecessors[node].iter().filter(|p| dominators.reachable(**p)) {
            // Who comes back from the node itself tells nothing new.
            if dominators.dominates(node, *from) {
                continue;
            }
            if self.goes_on[*from] != Some(node) {
                return None;
            }
            probes.extend(told[*from].as_ref()?);
        }
        let probes = unique(&probes);
        (1..=MOST).contains(&probes.len()).then_some(probes)
    }

    /// The probes of the successors, if being in `node` means entering one of them, and nothing else does.
    fn backward(&self, node: usize, told: &[Vec<usize>], instead: &HashMap<usize, Vec<usize>>) -> Option<Vec<usize>> {
        let successors = &self.successors[node];
        if self.stops[node] || successors.len() < 2 {
            return None;
        }
        if successors.iter().any(|s| self.predecessors[*s] != [node]) {
            return None;
        }
        let probes: Vec<usize> = successors.iter().flat_map(|s| &told[*s]).flat_map(|n| through(*n, instead)).collect();
        let probes = unique(&probes);
        (probes.len() <= MOST && !probes.contains(&node)).then_some(probes)
    }

    fn branch(&self, cfg: &Cfg, block: usize, probes: impl Fn(usize) -> Vec<u32>) -> Option<Branch> {
        let node = &cfg.blocks[block];
        let decision = node.decision.as_ref()?;
        let mut arms: Vec<(usize, Label)> = Vec::new();
        for (target, label) in node.successors.iter().zip(&decision.labels) {
            // Cases that lead to the same block are one arm, named by the first; so is what joins the default.
            if !arms.iter().any(|(t, _)| t == target) {
                arms.push((*target, *label));
            }
        }
        let arms = arms
            .into_iter()
            .map(|(target, label)| {
                let node = self.edges.get(&(block, target)).copied().unwrap_or(target);
                Arm { label, probes: probes(node) }
            })
            .collect();
        Some(Branch { place: decision.place, arms })
    }
}

fn through(node: usize, instead: &HashMap<usize, Vec<usize>>) -> Vec<usize> {
    instead.get(&node).cloned().unwrap_or_else(|| vec![node])
}

/// The distinct elements in their first order.
fn unique(list: &[usize]) -> Vec<usize> {
    let mut out: Vec<usize> = Vec::with_capacity(list.len());
    if list.len() <= 16 {
        for item in list {
            if !out.contains(item) {
                out.push(*item);
            }
        }
    } else {
        let mut seen = rustc_hash::FxHashSet::default();
        out.extend(list.iter().filter(|item| seen.insert(**item)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::cfg::{Decision, Node};
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn graph() -> impl Strategy<Value = Cfg> {
        (1usize..14).prop_flat_map(|n| {
            let node = (prop::collection::vec(0..n, 0..4), any::<bool>(), 0..4u8);
            prop::collection::vec(node, n)
                .prop_map(|nodes| Cfg { blocks: nodes.into_iter().enumerate().map(block).collect() })
        })
    }

    fn block((i, (successors, decides, stops)): (usize, (Vec<usize>, bool, u8))) -> Node {
        let line = i as u32 + 1;
        let place = Place { file: 0, line, column: 1 };
        let labels = (0..successors.len() as i64).map(Label::Case).collect();
        let distinct = unique(&successors).len();
        let decision = (decides && distinct > 1).then_some(Decision { place, labels });
        let unwinds_to = successors.last().copied().filter(|_| !decides && distinct == 2 && stops == 0);
        // The entry of a function has no predecessors, and an edge without a decision can't be split.
        Node { successors, unwinds_to, decision, stops: stops == 0, statements: vec![place] }
    }

    #[derive(Default)]
    struct Truth {
        set: HashSet<u32>,
        entered: HashSet<usize>,
        taken: HashSet<(usize, usize)>,
        /// What had to follow where control stopped.
        due: HashSet<usize>,
    }

    /// Adds what had to follow a block.
    fn follow(cfg: &Cfg, mut at: usize, due: &mut HashSet<usize>) {
        while let Some(next) = goes_on(&cfg.blocks[at]).filter(|next| due.insert(*next)) {
            at = next;
        }
    }

    /// Where a block goes if nothing unusual happens, if that is one place.
    fn goes_on(node: &Node) -> Option<usize> {
        let mut usual = unique(&node.successors);
        usual.retain(|s| Some(*s) != node.unwinds_to);
        (usual.len() == 1).then(|| usual[0])
    }

    /// Walks from the entry until control stops or ends; a walk that does neither teaches nothing.
    fn walk(cfg: &Cfg, plan: &CoverPlan, choices: &[u8], truth: &mut Truth) {
        let mut walk = Truth::default();
        let number = |site: Site| plan.sites.iter().position(|s| *s == site).map(|i| plan.first + i as u32);
        let mut at = 0;
        for choice in choices {
            walk.entered.insert(at);
            walk.set.extend(number(Site::Block(at)));
            let node = &cfg.blocks[at];
            if node.successors.is_empty() || (node.stops && choice % 3 == 0) {
                follow(cfg, at, &mut walk.due);
                truth.set.extend(walk.set);
                truth.entered.extend(walk.entered);
                truth.taken.extend(walk.taken);
                truth.due.extend(walk.due);
                return;
            }
            let target = node.successors[*choice as usize % node.successors.len()];
            if node.unwinds_to == Some(target) {
                follow(cfg, at, &mut walk.due);
            }
            if node.decision.is_some() {
                let position = node.successors.iter().position(|s| *s == target).unwrap();
                walk.set.extend(number(Site::Edge(at, position)));
                walk.taken.insert((at, target));
            }
            at = target;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]
        #[test]
        fn probes_lose_nothing_and_invent_nothing(
            mut cfg in graph(),
            walks in prop::collection::vec(prop::collection::vec(any::<u8>(), 40), 1..4),
        ) {
            // As in LLVM: nothing jumps to the entry.
            for node in &mut cfg.blocks {
                node.successors.retain(|s| *s != 0);
                if unique(&node.successors).len() < 2 {
                    node.decision = None;
                    node.unwinds_to = None;
                }
            }
            let plan = place(&cfg, 100);
            let mut truth = Truth::default();
            for choices in &walks {
                walk(&cfg, &plan, choices, &mut truth);
            }
            let told = |probes: &[u32]| probes.iter().any(|p| truth.set.contains(p));
            prop_assert_eq!(told(&plan.entry), truth.entered.contains(&0));
            for region in &plan.regions {
                for statement in &region.statements {
                    let block = statement.line as usize - 1;
                    if truth.entered.contains(&block) {
                        prop_assert!(told(&region.probes), "lost {:?}", region);
                    } else if told(&region.probes) {
                        prop_assert!(truth.due.contains(&block), "invented {:?}", region);
                    }
                }
            }
            for branch in &plan.branches {
                let block = branch.place.line as usize - 1;
                let node = &cfg.blocks[block];
                prop_assert_eq!(branch.arms.len(), unique(&node.successors).len());
                for arm in &branch.arms {
                    let Label::Case(i) = arm.label else { panic!() };
                    let target = node.successors[i as usize];
                    prop_assert_eq!(told(&arm.probes), truth.taken.contains(&(block, target)), "{:?}", branch);
                }
            }
        }
    }

    #[test]
    fn a_diamond_without_calls_needs_a_probe_for_each_way() {
        let mut cfg = Cfg { blocks: vec![Node::default(); 4] };
        cfg.blocks[0].successors = vec![1, 2];
        cfg.blocks[1].successors = vec![3];
        cfg.blocks[2].successors = vec![3];
        assert_eq!(place(&cfg, 0).sites, [Site::Block(1), Site::Block(2)]);
    }

    #[test]
    fn a_decision_behind_a_call_that_may_not_return_keeps_its_probe() {
        let mut cfg = Cfg { blocks: vec![Node::default(); 3] };
        cfg.blocks[0].successors = vec![1, 2];
        assert_eq!(place(&cfg, 0).sites, [Site::Block(1), Site::Block(2)]);
        cfg.blocks[0].stops = true;
        assert_eq!(place(&cfg, 0).sites, [Site::Block(0), Site::Block(1), Site::Block(2)]);
    }
}
