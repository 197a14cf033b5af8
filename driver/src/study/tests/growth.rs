//! How the number of distinct states grew with time.
//!
//! Programs say at which times they had met how many ([`crate::store::attached::Met`]), less and less often as the number grows; at the
//! end of a run the files of counts say how many there were. Nothing in between is made up.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use unseen_abi::state::{Attachments, Tally};

use super::Module;
use crate::store::attached::Met;
use crate::store::events::Event;
use crate::store::tallies::Tallies;
use crate::store::{ModuleId, Run};

/// The runs, and the growth over all of them.
#[derive(Debug, Default, Serialize)]
pub struct Growth {
    /// In the order in which they began.
    pub runs: Vec<Span>,
    /// Times in ns since 1970, and how many states were new until then.
    pub points: Vec<(u64, u64)>,
}

/// When a run was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Span {
    pub run: String,
    /// In ns since 1970.
    pub start: u64,
    pub end: u64,
}

/// From the first to the last event of a run.
pub fn span(run: &Run, events: &[Event]) -> Span {
    let times = || events.iter().filter_map(Event::time);
    let start = times().min().unwrap_or_else(|| run.last_start());
    Span { run: run.name.to_string_lossy().into_owned(), start, end: times().max().unwrap_or(start) }
}

/// Puts runs together: when each was, what its programs said, and what they left.
pub fn study<'a>(
    modules: &BTreeMap<ModuleId, Module>,
    runs: impl Iterator<Item = (&'a Span, &'a [Met], &'a [Tallies])>,
) -> Growth {
    let units: HashMap<String, Vec<usize>> =
        modules.iter().map(|(id, (_, attached))| (id.to_string(), unit_of_test(attached))).collect();
    let (mut spans, mut steps) = (Vec::new(), Vec::new());
    for (span, met, tallies) in runs {
        spans.push(span.clone());
        // All tests of a unit meet the same states: the one that met most counts.
        let mut most: HashMap<(u32, &str, usize), u64> = HashMap::new();
        for one in met {
            let Some(unit) = units.get(&one.module).and_then(|u| u.get(one.test as usize)) else { continue };
            let known = most.entry((one.pid, &one.module, *unit)).or_default();
            if one.states > *known {
                steps.push((one.time, one.states - *known));
                *known = one.states;
            }
        }
        let known: u64 = most.values().sum();
        let of_file = |file: &Tallies| units.get(&file.id.to_string()).map_or(0, |units| states(file, units));
        let left: u64 = tallies.iter().map(of_file).sum();
        if left > known {
            steps.push((span.end, left - known));
        }
    }
    spans.sort_by_key(|s| (s.start, s.end));
    steps.sort_unstable();
    let mut points: Vec<(u64, u64)> = spans.first().map(|s| (s.start, 0)).into_iter().collect();
    for (time, more) in steps {
        let now = points.last().map_or(0, |p| p.1) + more;
        match points.last_mut() {
            Some(last) if last.0 == time => last.1 = now,
            _ => points.push((time, now)),
        }
    }
    if let (Some(last), Some(end)) = (points.last().copied(), spans.iter().map(|s| s.end).max())
        && last.0 < end
    {
        points.push((end, last.1));
    }
    Growth { runs: spans, points }
}

/// For each test of a module the number of its unit.
pub fn unit_of_test(attached: &Attachments) -> Vec<usize> {
    attached.units.iter().enumerate().flat_map(|(number, u)| std::iter::repeat_n(number, u.tests.len())).collect()
}

/// How many states the units of a file met.
fn states(file: &Tallies, units: &[usize]) -> u64 {
    let mut most: HashMap<usize, u64> = HashMap::new();
    for (unit, words) in units.iter().zip(&file.units) {
        let known = most.entry(*unit).or_default();
        *known = (*known).max(words[Tally::Unseen as usize]);
    }
    most.values().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unseen_abi::manifest::Manifest;
    use unseen_abi::state::{Attached, FILE, Test};

    const ID: ModuleId = ModuleId([7; 16]);

    /// A unit with two tests, and one with one.
    fn modules() -> BTreeMap<ModuleId, Module> {
        let unit = |tests| Attached { tests: vec![Test::default(); tests], ..Attached::default() };
        let attached = Attachments { id: ID.0, units: vec![unit(2), unit(1)] };
        BTreeMap::from([(ID, (Manifest::default(), attached))])
    }

    fn met(time: u64, pid: u32, test: u32, states: u64) -> Met {
        Met { time, pid, module: ID.to_string(), test, states }
    }

    fn file(pid: u32, states: [u64; 3]) -> Tallies {
        let words = |n: u64| {
            let mut words = vec![0; FILE.words];
            words[Tally::Unseen as usize] = n;
            words
        };
        Tallies { id: ID, pid, binary: "x".into(), units: states.map(words).to_vec() }
    }

    fn span(run: &str, start: u64, end: u64) -> Span {
        Span { run: run.into(), start, end }
    }

    #[test]
    fn tests_of_one_unit_share_its_states_and_runs_are_put_in_order() {
        let second = (span("b", 100, 150), vec![met(110, 1, 2, 4)], vec![file(1, [0, 0, 4])]);
        let first = (
            span("a", 10, 50),
            vec![met(20, 1, 0, 1), met(20, 1, 1, 1), met(30, 1, 0, 2), met(30, 2, 0, 1)],
            vec![file(1, [3, 2, 0]), file(2, [1, 1, 5])],
        );
        let runs = [&second, &first].map(|(span, met, files)| (span, &met[..], &files[..]));
        let growth = study(&modules(), runs.into_iter());
        assert_eq!(growth.points, [(10, 0), (20, 1), (30, 3), (50, 9), (110, 13), (150, 13)]);
        assert_eq!(growth.runs, [first.0, second.0]);
    }

    #[test]
    fn nothing_grows_without_runs() {
        let growth = study(&modules(), std::iter::empty());
        assert!(growth.points.is_empty() && growth.runs.is_empty());
    }
}
