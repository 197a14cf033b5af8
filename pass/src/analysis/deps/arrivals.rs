//! What may come to the nodes of a graph along its edges: which functions, any, or one that is not here. Programs have hundreds of thousands of nodes, nearly
//! all of them in circles, and each node may get thousands of functions: so sets are made only for nodes that somebody asks for,
//! once for each circle, and nodes to which the same comes share them.

use super::components::components;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The graph.
#[derive(Default)]
pub struct Arrivals {
    nodes: Vec<Node>,
}

#[derive(Default)]
struct Node {
    /// Those that begin here.
    functions: Vec<u32>,
    /// Any function may come here.
    any: bool,
    /// One that is not in the program may come here.
    foreign: bool,
    /// From where more comes; whether "any" does, too.
    sources: Vec<(u32, bool)>,
}

impl Arrivals {
    /// Adds a node; its number.
    pub fn add(&mut self) -> u32 {
        self.nodes.push(Node::default());
        self.nodes.len() as u32 - 1
    }

    /// A function is at a node.
    pub fn put(&mut self, node: u32, function: u32) {
        self.nodes[node as usize].functions.push(function);
    }

    /// Any function may be at a node.
    pub fn put_any(&mut self, node: u32) {
        self.nodes[node as usize].any = true;
    }

    /// A function that is not in the program may be at a node.
    pub fn put_foreign(&mut self, node: u32) {
        self.nodes[node as usize].foreign = true;
    }

    /// What comes to a node goes on to another. Only with `any` does it go on that any function may be there.
    pub fn edge(&mut self, from: u32, to: u32, any: bool) {
        self.nodes[to as usize].sources.push((from, any));
    }

    /// Whether any function may come to each node.
    pub fn any(&self) -> Vec<bool> {
        self.reached(|node| node.any, |any| any)
    }

    /// Whether a function that is not in the program may come to each node.
    pub fn foreign(&self) -> Vec<bool> {
        self.reached(|node| node.foreign, |_| true)
    }

    fn reached(&self, begins: impl Fn(&Node) -> bool, goes_on: impl Fn(bool) -> bool) -> Vec<bool> {
        let mut next: Vec<Vec<u32>> = vec![Vec::new(); self.nodes.len()];
        for (to, node) in self.nodes.iter().enumerate() {
            for (from, _) in node.sources.iter().filter(|(_, any)| goes_on(*any)) {
                next[*from as usize].push(to as u32);
            }
        }
        let mut found: Vec<bool> = self.nodes.iter().map(begins).collect();
        let mut work: Vec<u32> = (0..).zip(&found).filter(|(_, is)| **is).map(|(number, _)| number).collect();
        while let Some(node) = work.pop() {
            for to in &next[node as usize] {
                if !std::mem::replace(&mut found[*to as usize], true) {
                    work.push(*to);
                }
            }
        }
        found
    }

    /// The functions that may come to a node.
    pub fn functions(&self, node: u32) -> BTreeSet<u32> {
        let mut met = vec![false; self.nodes.len()];
        met[node as usize] = true;
        let (mut work, mut found) = (vec![node], BTreeSet::new());
        while let Some(node) = work.pop() {
            let Node { functions, sources, .. } = &self.nodes[node as usize];
            found.extend(functions);
            for (from, _) in sources {
                if !std::mem::replace(&mut met[*from as usize], true) {
                    work.push(*from);
                }
            }
        }
        found
    }

    /// The functions that may come to each of these nodes.
    pub fn functions_of(&self, nodes: &[u32]) -> Vec<Rc<BTreeSet<u32>>> {
        let sources = |node: &Node| node.sources.iter().map(|(from, _)| *from).collect();
        let graph: Vec<Vec<u32>> = self.nodes.iter().map(sources).collect();
        let mut found: Vec<Option<Rc<BTreeSet<u32>>>> = vec![None; graph.len()];
        for circle in components(&graph, nodes) {
            let mut own: BTreeSet<u32> = BTreeSet::new();
            let mut come: Vec<&Rc<BTreeSet<u32>>> = Vec::new();
            for node in &circle {
                own.extend(&self.nodes[*node as usize].functions);
                // What is not known yet is of the same circle.
                let known = graph[*node as usize].iter().filter_map(|from| found[*from as usize].as_ref());
                come.extend(known.filter(|set| !set.is_empty()));
            }
            come.sort_unstable_by_key(|set| Rc::as_ptr(set));
            come.dedup_by_key(|set| Rc::as_ptr(set));
            let all = match come[..] {
                [only] if own.is_subset(only) => Rc::clone(only),
                _ => {
                    come.iter().for_each(|set| own.extend(set.iter()));
                    Rc::new(own)
                }
            };
            circle.iter().for_each(|node| found[*node as usize] = Some(Rc::clone(&all)));
        }
        nodes.iter().map(|node| found[*node as usize].clone().expect("it was asked for")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn everything_goes_on_until_nothing_changes(
            edges in proptest::collection::vec((0u32..9, 0u32..9, any::<bool>()), 0..25),
            put in proptest::collection::vec((0u32..9, 0u32..5), 0..6),
            anything in proptest::collection::vec(0u32..9, 0..3),
            others in proptest::collection::vec(0u32..9, 0..3),
        ) {
            let mut graph = Arrivals::default();
            (0..9).for_each(|number| assert_eq!(graph.add(), number));
            let mut expected = vec![(BTreeSet::new(), false, false); 9];
            for (node, function) in &put {
                graph.put(*node, *function);
                expected[*node as usize].0.insert(*function);
            }
            for node in &anything {
                graph.put_any(*node);
                expected[*node as usize].1 = true;
            }
            for node in &others {
                graph.put_foreign(*node);
                expected[*node as usize].2 = true;
            }
            edges.iter().for_each(|(from, to, any)| graph.edge(*from, *to, *any));
            for _ in 0..9 {
                for (from, to, any) in &edges {
                    let (functions, is_any, is_foreign) = expected[*from as usize].clone();
                    expected[*to as usize].0.extend(functions);
                    expected[*to as usize].1 |= is_any && *any;
                    expected[*to as usize].2 |= is_foreign;
                }
            }
            let (any, foreign, functions) = (graph.any(), graph.foreign(), graph.functions_of(&(0..9).collect::<Vec<_>>()));
            for (node, (expected_functions, expected_any, expected_foreign)) in expected.iter().enumerate() {
                prop_assert_eq!(any[node], *expected_any);
                prop_assert_eq!(foreign[node], *expected_foreign);
                prop_assert_eq!(&*functions[node], expected_functions);
                prop_assert_eq!(&graph.functions(node as u32), expected_functions);
            }
        }
    }
}
