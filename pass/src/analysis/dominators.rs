//! Dominators of a graph given as successor lists, by the iterative algorithm of Cooper, Harvey and Kennedy.

/// Which nodes come before which on every path from node 0.
pub struct Dominators {
    /// Immediate dominator, by node; the entry's is itself; `None` where the entry does not lead.
    immediate: Vec<Option<usize>>,
    /// Position in reverse post-order, by node.
    position: Vec<usize>,
    /// Reachable nodes in reverse post-order.
    order: Vec<usize>,
}

impl Dominators {
    /// Computes them for the graph whose entry is node 0.
    pub fn of(successors: &[Vec<usize>]) -> Dominators {
        let order = reverse_post_order(successors);
        let mut position = vec![usize::MAX; successors.len()];
        for (i, node) in order.iter().enumerate() {
            position[*node] = i;
        }
        let mut predecessors = vec![Vec::new(); successors.len()];
        for node in &order {
            for next in &successors[*node] {
                predecessors[*next].push(*node);
            }
        }
        let mut result = Dominators { immediate: vec![None; successors.len()], position, order };
        if let Some(entry) = result.order.first().copied() {
            result.immediate[entry] = Some(entry);
            while result.refine(&predecessors) {}
        }
        result
    }

    fn refine(&mut self, predecessors: &[Vec<usize>]) -> bool {
        let mut changed = false;
        for i in 1..self.order.len() {
            let node = self.order[i];
            let known = predecessors[node].iter().copied().filter(|p| self.immediate[*p].is_some());
            let new = known.reduce(|a, b| self.meet(a, b));
            changed |= new != self.immediate[node];
            self.immediate[node] = new;
        }
        changed
    }

    fn meet(&self, mut a: usize, mut b: usize) -> usize {
        while a != b {
            while self.position[a] > self.position[b] {
                a = self.immediate[a].expect("dominators of reachable nodes are known in order");
            }
            while self.position[b] > self.position[a] {
                b = self.immediate[b].expect("dominators of reachable nodes are known in order");
            }
        }
        a
    }

    /// Reachable nodes, each before its successors except along back edges.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Whether the entry leads to the node.
    pub fn reachable(&self, node: usize) -> bool {
        self.immediate[node].is_some()
    }

    /// Whether every path from the entry to `b` goes through `a`.
    pub fn dominates(&self, a: usize, mut b: usize) -> bool {
        while self.position[b] > self.position[a] {
            b = match self.immediate[b] {
                Some(up) => up,
                None => return false,
            };
        }
        a == b
    }
}

/// The nodes that node 0 leads to, each before its successors except along back edges.
pub fn reverse_post_order(successors: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; successors.len()];
    let mut order = Vec::with_capacity(successors.len());
    let mut stack: Vec<(usize, usize)> = Vec::new();
    if !successors.is_empty() {
        seen[0] = true;
        stack.push((0, 0));
    }
    while let Some((node, next)) = stack.last_mut() {
        if let Some(child) = successors[*node].get(*next).copied() {
            *next += 1;
            if !std::mem::replace(&mut seen[child], true) {
                stack.push((child, 0));
            }
        } else {
            order.push(*node);
            stack.pop();
        }
    }
    order.reverse();
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Whether the entry reaches `to` without passing `without`.
    fn reaches(graph: &[Vec<usize>], to: usize, without: usize) -> bool {
        let mut seen = vec![false; graph.len()];
        let mut work = vec![0];
        while let Some(node) = work.pop() {
            if node != without && !std::mem::replace(&mut seen[node], true) {
                work.extend(&graph[node]);
            }
        }
        seen[to]
    }

    proptest! {
        #[test]
        fn agree_with_the_definition(graph in (1usize..12).prop_flat_map(|n| {
            prop::collection::vec(prop::collection::vec(0..n, 0..4), n)
        })) {
            let dominators = Dominators::of(&graph);
            for b in 0..graph.len() {
                prop_assert_eq!(dominators.reachable(b), reaches(&graph, b, usize::MAX));
                for a in (0..graph.len()).filter(|_| dominators.reachable(b)) {
                    let expected = a == b || !reaches(&graph, b, a);
                    prop_assert_eq!(dominators.reachable(a) && dominators.dominates(a, b), expected, "{} {}", a, b);
                }
            }
        }
    }
}
