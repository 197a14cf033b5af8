//! The order of blocks, and which of them are in loops.

use super::body::Body;
use super::components::components;

pub(super) fn successors(body: &Body, block: u32) -> impl Iterator<Item = u32> + '_ {
    let block = &body.blocks[block as usize];
    block.next.iter().copied().chain(block.unwind)
}

pub(super) fn reverse_postorder(body: &Body) -> Vec<u32> {
    let mut order = Vec::new();
    let mut seen = vec![false; body.blocks.len()];
    let mut stack: Vec<(u32, Vec<u32>)> = Vec::new();
    if !body.blocks.is_empty() {
        seen[0] = true;
        stack.push((0, successors(body, 0).collect()));
    }
    while let Some((block, rest)) = stack.last_mut() {
        match rest.pop() {
            Some(next) if !seen[next as usize] => {
                seen[next as usize] = true;
                stack.push((next, successors(body, next).collect()));
            }
            Some(_) => {}
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

/// Which blocks may come after themselves.
pub(super) fn in_loops(body: &Body, order: &[u32]) -> Vec<bool> {
    let graph: Vec<Vec<u32>> = (0..body.blocks.len() as u32).map(|b| successors(body, b).collect()).collect();
    let mut looping = vec![false; graph.len()];
    for component in components(&graph, order) {
        let alone = component.len() == 1 && !graph[component[0] as usize].contains(&component[0]);
        for block in component {
            looping[block as usize] = !alone;
        }
    }
    looping
}
