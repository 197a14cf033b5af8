//! Adding up the counters of many processes, exactly and in bounded memory.
//!
//! What is counted is a *point*: anything that is reached when one of several counters is set, in whatever
//! module they are (a line of a header that two libraries share). The caller says for each module which counters
//! tell of which points; back comes, for each point, how many processes and how many runs reached it. Sums over
//! counters could not say that: a process that sets two counters of a point is one process.
//!
//! A process is what has one pid in one run, until a module appears in it a second time (pids are used again, and
//! a program may execute itself).

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::counters::{self, CounterFile};
use super::{Fault, ModuleId, Problem, Run};

/// For each counter of a module the points it tells of.
#[derive(Debug, Default, Clone)]
pub struct Points {
    /// Where the points of each counter begin in `points`; one more at the end.
    starts: Vec<u32>,
    points: Vec<u32>,
}

impl Points {
    /// Of a module with `counters` counters, from pairs of counter and point. Pairs beyond are left out.
    pub fn new(counters: u32, mut pairs: Vec<(u32, u32)>) -> Points {
        pairs.sort_unstable();
        pairs.dedup();
        pairs.truncate(pairs.partition_point(|(c, _)| *c < counters));
        let mut starts = vec![0; counters as usize + 1];
        for (counter, _) in &pairs {
            starts[*counter as usize + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        Points { starts, points: pairs.into_iter().map(|(_, p)| p).collect() }
    }

    fn counters(&self) -> u64 {
        self.starts.len() as u64 - 1
    }

    fn of(&self, counter: usize) -> &[u32] {
        &self.points[self.starts[counter] as usize..self.starts[counter + 1] as usize]
    }
}

/// What was reached, and what it was read from.
#[derive(Debug, Default)]
pub struct Merged {
    points: Vec<Point>,
    /// The modules whose counters are in here.
    pub modules: Vec<Module>,
    /// What could not be used.
    pub problems: Vec<Problem>,
    /// How many processes left counters.
    pub processes: u32,
    /// When the first of them began, in nanoseconds since 1970.
    pub first: Option<u64>,
    /// When the last of them began.
    pub last: Option<u64>,
}

/// A module and the files it came from.
#[derive(Debug, Clone)]
pub struct Module {
    pub id: ModuleId,
    pub binary: std::path::PathBuf,
    pub processes: u32,
}

#[derive(Debug, Default, Clone, Copy)]
struct Point {
    processes: u32,
    runs: u32,
    /// Numbers, from 1, of the last process and the last run that were counted.
    last_process: u32,
    last_run: u32,
}

impl Merged {
    /// How many processes reached a point.
    pub fn processes(&self, point: u32) -> u32 {
        self.points.get(point as usize).map_or(0, |p| p.processes)
    }

    /// How many runs reached a point.
    pub fn runs(&self, point: u32) -> u32 {
        self.points.get(point as usize).map_or(0, |p| p.runs)
    }

    fn reach(&mut self, point: u32, process: u32, run: u32) {
        let point = point as usize;
        if point >= self.points.len() {
            self.points.resize(point + 1, Point::default());
        }
        let point = &mut self.points[point];
        if point.last_process != process {
            point.last_process = process;
            point.processes += 1;
        }
        if point.last_run != run {
            point.last_run = run;
            point.runs += 1;
        }
    }
}

/// Merges all counter files of these runs. `points_of` is asked once for each module, and again for another binary
/// if it failed.
pub fn merge(runs: &[Run], mut points_of: impl FnMut(&CounterFile) -> Result<Points, Fault>) -> Merged {
    let mut merged = Merged::default();
    let mut known: HashMap<ModuleId, (Points, usize)> = HashMap::new();
    let mut refused = HashSet::new();
    let mut buffer = Vec::new();
    for (run, number) in runs.iter().zip(1..) {
        let (files, problems) = counters::headers(run);
        merged.problems.extend(problems);
        let mut process: Option<(u32, HashSet<ModuleId>)> = None;
        for file in files {
            let same = process.as_mut().is_some_and(|(pid, seen)| *pid == file.pid && seen.insert(file.id));
            if !same {
                process = Some((file.pid, HashSet::from([file.id])));
                merged.processes += 1;
            }
            merged.first = Some(merged.first.map_or(file.time, |t| t.min(file.time)));
            merged.last = merged.last.max(Some(file.time));
            let (points, module) = match known.entry(file.id) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(_) if !refused.insert((file.id, file.binary.clone())) => continue,
                Entry::Vacant(place) => match points_of(&file) {
                    Ok(points) => {
                        merged.modules.push(Module { id: file.id, binary: file.binary.clone(), processes: 0 });
                        place.insert((points, merged.modules.len() - 1))
                    }
                    Err(fault) => {
                        merged.problems.push(Problem { file: file.file, fault });
                        continue;
                    }
                },
            };
            if let Err(fault) = add(&mut merged, points, &file, number, &mut buffer) {
                merged.problems.push(Problem { file: file.file, fault });
            } else {
                merged.modules[*module].processes += 1;
            }
        }
    }
    // A module may have failed with one binary and succeeded with the next.
    merged.problems.retain(|p| !matches!(&p.fault, Fault::NoManifest(e) if known.contains_key(&e.id())));
    merged.modules.sort_by(|a, b| (&a.binary, a.id).cmp(&(&b.binary, b.id)));
    merged
}

fn add(merged: &mut Merged, points: &Points, file: &CounterFile, run: u32, buffer: &mut Vec<u8>) -> Result<(), Fault> {
    if file.count != points.counters() {
        return Err(Fault::WrongCount { id: file.id, file: file.count, manifest: points.counters() });
    }
    let process = merged.processes;
    file.for_each_reached(buffer, |counter| {
        for point in points.of(counter) {
            merged.reach(*point, process, run);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::counters::samples;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// What one process left: for each of two modules perhaps a set of counters.
    type Process = [Option<BTreeSet<u32>>; 2];

    const COUNTERS: u32 = 40;
    const POINTS: u32 = 12;

    fn a_process() -> impl Strategy<Value = Process> {
        let set = || prop::option::of(prop::collection::btree_set(0..COUNTERS, 0..6));
        [set(), set()]
    }

    fn pairs() -> impl Strategy<Value = Vec<(u32, u32)>> {
        prop::collection::vec((0..COUNTERS, 0..POINTS), 0..60)
    }

    proptest! {
        /// Against the definition: for each point, the set of processes (and of runs) in which any counter is set.
        #[test]
        fn merging_counts_processes_and_runs_like_the_definition(
            runs in prop::collection::vec(prop::collection::vec(a_process(), 0..6), 0..5),
            tables in [pairs(), pairs()],
        ) {
            let dir = tempfile::tempdir().unwrap();
            let mut written = Vec::new();
            for (i, processes) in runs.iter().enumerate() {
                let run = Run { name: i.to_string().into(), directory: dir.path().join(i.to_string()) };
                std::fs::create_dir(&run.directory).unwrap();
                for (j, process) in processes.iter().enumerate() {
                    for (m, set) in process.iter().enumerate() {
                        let Some(set) = set else { continue };
                        let counters: Vec<u8> = (0..COUNTERS).map(|c| u8::from(set.contains(&c))).collect();
                        samples::write(&run, [m as u8; 16], 100 + j as u32, 1 + m as u64, &counters);
                    }
                }
                written.push(run);
            }
            let merged = merge(&written, |f| Ok(Points::new(COUNTERS, tables[f.id.0[0] as usize].clone())));

            prop_assert!(merged.problems.is_empty());
            let reaches = |process: &Process, point: u32| {
                process.iter().zip(&tables).any(|(set, table)| {
                    set.as_ref().is_some_and(|s| table.iter().any(|(c, p)| *p == point && s.contains(c)))
                })
            };
            for point in 0..POINTS {
                let processes = runs.iter().flatten().filter(|p| reaches(p, point)).count();
                let in_runs = runs.iter().filter(|r| r.iter().any(|p| reaches(p, point))).count();
                prop_assert_eq!(merged.processes(point) as usize, processes);
                prop_assert_eq!(merged.runs(point) as usize, in_runs);
            }
            let all = runs.iter().flatten().filter(|p| p.iter().any(Option::is_some)).count();
            prop_assert_eq!(merged.processes as usize, all);
        }
    }

    #[test]
    fn a_pid_that_is_used_again_is_another_process() {
        let dir = tempfile::tempdir().unwrap();
        let run = Run { name: "r".into(), directory: dir.path().into() };
        for time in [1, 2, 3] {
            samples::write(&run, [1; 16], 7, time, &[1]);
        }
        let merged = merge(&[run], |_| Ok(Points::new(1, vec![(0, 0)])));
        assert_eq!((merged.processes, merged.processes(0), merged.runs(0)), (3, 3, 1));
        assert_eq!((merged.first, merged.last), (Some(1), Some(3)));
    }

    #[test]
    fn bad_files_are_named_and_the_rest_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let run = Run { name: "r".into(), directory: dir.path().into() };
        samples::write(&run, [1; 16], 7, 1, &[1, 0]);
        samples::write(&run, [1; 16], 8, 1, &[1, 0, 1]);
        std::fs::write(dir.path().join("foreign.cov"), "hello").unwrap();
        std::fs::write(dir.path().join("empty.cov"), "").unwrap();
        let merged = merge(&[run], |_| Ok(Points::new(2, vec![(0, 0), (1, 1), (99, 1)])));
        let said: Vec<String> = merged.problems.iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[0].contains("empty.cov") && said[1].contains("foreign.cov: is not a counter file"));
        assert!(said[2].contains("01010101-8-1.cov: has 3 counters"), "{said:?}");
        assert_eq!((merged.processes(0), merged.processes(1)), (1, 0));
    }
}
