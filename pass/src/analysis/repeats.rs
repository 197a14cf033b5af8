//! Which probes say what was said before: in a function into which others were inlined the same probe may stand many times on one
//! way through it. It need not be set again, unless something was called in between that might have reset it.

use super::bits::Bits;
use super::dominators::reverse_post_order;
use rustc_hash::FxHashMap as HashMap;

/// What a block does, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Sets the probe of that number.
    Probe(u32),
    /// Calls something.
    Call,
}

/// A function: what its blocks do, and where they go. The first block is the entry.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// By block.
    pub events: Vec<Vec<Event>>,
    /// By block.
    pub successors: Vec<Vec<usize>>,
}

/// Beyond this size (probes times blocks) only what is repeated within a block is found.
const MOST: usize = 1 << 28;

/// The positions of events, by block, that set what is already set whenever they are reached.
pub fn repeats(trace: &Trace) -> Vec<Vec<usize>> {
    let mut ids = HashMap::default();
    for event in trace.events.iter().flatten() {
        if let Event::Probe(number) = event {
            let next = ids.len();
            ids.entry(*number).or_insert(next);
        }
    }
    let before = if ids.len() * trace.events.len() > MOST {
        vec![Bits::none(ids.len()); trace.events.len()]
    } else {
        certain(trace, &ids)
    };
    let positions = |(mut set, events): (Bits, &Vec<Event>)| {
        let repeated = events.iter().enumerate().filter(|(_, event)| !follow(&mut set, **event, &ids));
        repeated.map(|(position, _)| position).collect()
    };
    before.into_iter().zip(&trace.events).map(positions).collect()
}

/// For each block the probes that are set on every way to it.
fn certain(trace: &Trace, ids: &HashMap<u32, usize>) -> Vec<Bits> {
    let order = reverse_post_order(&trace.successors);
    let mut before = vec![Bits::all(ids.len()); trace.events.len()];
    let Some(entry) = before.first_mut() else { return before };
    *entry = Bits::none(ids.len());
    let mut changed = true;
    while changed {
        changed = false;
        for block in &order {
            let mut set = before[*block].clone();
            for event in &trace.events[*block] {
                follow(&mut set, *event, ids);
            }
            for next in &trace.successors[*block] {
                changed |= before[*next].keep_all(&set);
            }
        }
    }
    before
}

/// Follows an event with the set of probes before it, by their position in the list of those that a function has. Returns false if
/// it is a probe that is already set.
fn follow(set: &mut Bits, event: Event, ids: &HashMap<u32, usize>) -> bool {
    match event {
        Event::Call => {
            set.clear();
            true
        }
        Event::Probe(number) => set.insert(ids[&number]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn trace() -> impl Strategy<Value = Trace> {
        let event = prop_oneof![4 => (0..6u32).prop_map(Event::Probe), 1 => Just(Event::Call)];
        (1usize..8).prop_flat_map(move |n| {
            let blocks = prop::collection::vec(prop::collection::vec(event.clone(), 0..5), n);
            let successors = prop::collection::vec(prop::collection::vec(0..n, 0..3), n);
            (blocks, successors).prop_map(|(events, successors)| Trace { events, successors })
        })
    }

    /// Which events are reached with their probe not set, by trying all states that a walk can be in.
    fn needed(trace: &Trace) -> HashSet<(usize, usize)> {
        let mut needed = HashSet::new();
        let mut seen = HashSet::new();
        let mut work = vec![(0, 0u64)];
        while let Some((block, mut set)) = work.pop() {
            if !seen.insert((block, set)) {
                continue;
            }
            for (position, event) in trace.events[block].iter().enumerate() {
                match event {
                    Event::Call => set = 0,
                    Event::Probe(number) => {
                        if set & 1 << number == 0 {
                            needed.insert((block, position));
                        }
                        set |= 1 << number;
                    }
                }
            }
            work.extend(trace.successors[block].iter().map(|next| (*next, set)));
        }
        needed
    }

    proptest! {
        #[test]
        fn agree_with_all_walks(trace in trace()) {
            let repeated = repeats(&trace);
            let reached = reverse_post_order(&trace.successors);
            let needed = needed(&trace);
            for block in reached {
                for (position, event) in trace.events[block].iter().enumerate() {
                    let found = repeated[block].contains(&position);
                    let expected = matches!(event, Event::Probe(_)) && !needed.contains(&(block, position));
                    prop_assert_eq!(found, expected, "block {} event {}", block, position);
                }
            }
        }
    }
}
