//! Strongly connected components of a graph (Tarjan), without recursion.

/// The components that are reached from `roots`, each before those that point to it.
pub fn components(graph: &[Vec<u32>], roots: &[u32]) -> Vec<Vec<u32>> {
    const NEW: u32 = u32::MAX;
    let mut number = vec![NEW; graph.len()];
    let mut low = vec![0; graph.len()];
    let mut on_stack = vec![false; graph.len()];
    let (mut stack, mut out, mut next) = (Vec::new(), Vec::new(), 0);
    for root in roots {
        if number[*root as usize] != NEW {
            continue;
        }
        let mut work = vec![(*root, 0)];
        while let Some(&mut (node, ref mut edge)) = work.last_mut() {
            let n = node as usize;
            if *edge == 0 {
                (number[n], low[n]) = (next, next);
                next += 1;
                stack.push(node);
                on_stack[n] = true;
            }
            if let Some(&to) = graph[n].get(*edge) {
                *edge += 1;
                if number[to as usize] == NEW {
                    work.push((to, 0));
                } else if on_stack[to as usize] {
                    low[n] = low[n].min(number[to as usize]);
                }
                // An edge may lead back here at once: the first visit is over.
                continue;
            }
            work.pop();
            if let Some(&(parent, _)) = work.last() {
                low[parent as usize] = low[parent as usize].min(low[n]);
            }
            if low[n] == number[n] {
                let from = stack.iter().rposition(|s| *s == node).expect("the node is on the stack");
                let component: Vec<u32> = stack.split_off(from);
                for member in &component {
                    on_stack[*member as usize] = false;
                }
                out.push(component);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn members_reach_each_other_and_callees_come_first(
            edges in proptest::collection::vec((0u32..8, 0u32..8), 0..20)
        ) {
            let mut graph = vec![Vec::new(); 8];
            edges.iter().for_each(|(a, b)| graph[*a as usize].push(*b));
            let mut reach = vec![vec![false; 8]; 8];
            edges.iter().for_each(|(a, b)| reach[*a as usize][*b as usize] = true);
            for k in 0..8 {
                for i in 0..8 {
                    for j in 0..8 {
                        reach[i][j] |= reach[i][k] && reach[k][j];
                    }
                }
            }
            let found = components(&graph, &(0..8).collect::<Vec<_>>());
            let mut place = [usize::MAX; 8];
            for (i, component) in found.iter().enumerate() {
                component.iter().for_each(|n| place[*n as usize] = i);
            }
            prop_assert!(!place.contains(&usize::MAX));
            for i in 0..8 {
                for j in 0..8 {
                    prop_assert_eq!(place[i] == place[j], i == j || (reach[i][j] && reach[j][i]));
                    prop_assert!(!graph[i].contains(&(j as u32)) || place[j] <= place[i]);
                }
            }
        }
    }
}
