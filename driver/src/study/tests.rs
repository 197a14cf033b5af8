//! Tests that ran inside programs: what became of them, in how many states their units were called, and what that cost.
//!
//! In: runs of a store. Out: [`Findings`], plain data: failures, units with their tests, sums, and how the states grew in number.

pub mod growth;
mod numbers;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::Path;

use serde::Serialize;
use unseen_abi::manifest::Manifest;
use unseen_abi::state::{Attached, Attachments, FILE};

use super::accounts::{Account, Reader};
use super::names;
use super::sources::{Sources, Spot};
use crate::store::attached::{self, Told};
use crate::store::manifests::Finder;
use crate::store::tallies::{self, Tallies};
use crate::store::{ModuleId, Run, Store, events};
pub use growth::Growth;
pub use numbers::{Cost, Numbers, Words, of_unit};

/// What came out.
#[derive(Debug, Default, Serialize)]
pub struct Findings {
    /// The directory that places are relative to.
    pub root: String,
    /// Those that say something of the program first.
    pub failures: Vec<Failure>,
    pub units: Vec<Unit>,
    /// Those of each unit are neighbours.
    pub tests: Vec<Test>,
    pub summary: Numbers,
    pub cost: Cost,
    pub growth: Growth,
    /// What could not be used, each with the file that is to blame.
    pub problems: Vec<String>,
}

/// A test that did not pass: one for each test, outcome and state.
#[derive(Debug, Serialize)]
pub struct Failure {
    /// The same test of the same build in the same state has the same id.
    pub id: String,
    pub unit: String,
    pub unit_place: Option<Spot>,
    pub test: String,
    pub test_place: Option<Spot>,
    pub outcome: Ending,
    /// How or why; may be empty.
    pub details: String,
    /// The state's name, in hex; empty if it could not be told.
    pub state: String,
    /// The end of what it printed.
    pub output: String,
    pub pid: u32,
    /// In ns since 1970.
    pub time: u64,
    /// The id of the build.
    pub build: String,
    /// How often the same was told again.
    pub more: u64,
    /// What it says of itself.
    #[serde(flatten)]
    pub account: Account,
}

/// How a test that did not pass ended; in the order in which they are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    Fail,
    Crash,
    Timeout,
    /// It could not be run to its end, which says nothing about the program.
    Environment,
}

impl Ending {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Ending::Fail => "fail",
            Ending::Crash => "crash",
            Ending::Timeout => "timeout",
            Ending::Environment => "environment",
        }
    }

    /// From the log's text: the ending, and how or why.
    fn of(text: &str) -> (Ending, &str) {
        let (word, details) = text.split_once(' ').unwrap_or((text, ""));
        let all = [Ending::Fail, Ending::Crash, Ending::Timeout, Ending::Environment];
        match all.into_iter().find(|e| e.word() == word) {
            Some(ending) => (ending, details),
            // What we don't know says nothing about the program.
            None => (Ending::Environment, text),
        }
    }
}

/// A unit, with all its tests.
#[derive(Debug, Serialize)]
pub struct Unit {
    pub unit: String,
    pub unit_place: Option<Spot>,
    /// Why its tests run at each call; empty if the state decides.
    pub opaque: String,
    #[serde(flatten)]
    pub numbers: Numbers,
    /// Which of [`Findings::tests`] are its own.
    #[serde(skip)]
    pub tests: Range<usize>,
}

/// A test of a unit.
#[derive(Debug, Serialize)]
pub struct Test {
    pub unit: String,
    pub unit_place: Option<Spot>,
    pub test: String,
    pub test_place: Option<Spot>,
    /// Why it runs at each call; empty if the state decides.
    pub opaque: String,
    #[serde(flatten)]
    pub numbers: Numbers,
}

/// A module: names of functions, and which are units and tests.
pub type Module = (Manifest, Attachments);

/// Reads what runs left; nothing if no program with tests left anything.
pub fn study(store: &Store, runs: &[Run], sources: &Sources) -> Option<Findings> {
    let (mut files, mut told, mut spans, mut problems) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for run in runs {
        let (found, faults) = tallies::read(&run.directory, &FILE);
        problems.extend(faults.iter().map(ToString::to_string));
        if found.is_empty() {
            continue;
        }
        let log = events::read(&run.directory);
        problems.extend(log.problem.iter().map(ToString::to_string));
        told.extend(attached::told(&log.events));
        let first = files.len();
        files.extend(found);
        spans.push((growth::span(run, &log.events), attached::met(&log.events), first..files.len()));
    }
    if files.is_empty() && problems.is_empty() {
        return None;
    }
    told.sort_by_key(|t| t.time);
    let modules = modules(store, &files, &mut problems);
    let runs = spans.iter().map(|(span, met, range)| (span, &met[..], &files[range.clone()]));
    let growth = growth::study(&modules, runs);
    let mut reader = Reader::new(&files, &told, sources);
    Some(Findings { growth, problems, ..findings(&modules, &files, &told, &mut reader) })
}

/// The modules that left these files, as far as they are in the store or their binaries are still what ran.
fn modules(store: &Store, tallies: &[Tallies], problems: &mut Vec<String>) -> BTreeMap<ModuleId, Module> {
    let binaries: BTreeMap<ModuleId, &Path> = tallies.iter().map(|file| (file.id, &*file.binary)).collect();
    let mut finder = Finder::new(store);
    let mut modules = BTreeMap::new();
    for (id, binary) in binaries {
        match attached::find(&mut finder, id, binary) {
            Some(module) => {
                modules.insert(id, module);
            }
            None => problems.push(format!("{} is no longer what ran; its tests can't be named", binary.display())),
        }
    }
    modules
}

/// Puts together what is known of each test.
fn findings(
    modules: &BTreeMap<ModuleId, Module>,
    tallies: &[Tallies],
    told: &[Told],
    reader: &mut Reader<'_>,
) -> Findings {
    let sources = reader.sources;
    let mut counts: BTreeMap<(ModuleId, usize), Words> = BTreeMap::new();
    for file in tallies {
        for (test, words) in file.units.iter().enumerate() {
            let sum = counts.entry((file.id, test)).or_default();
            sum.iter_mut().zip(words).for_each(|(s, n)| *s += n);
        }
    }
    let (mut units, mut tests, mut all) = (Vec::new(), Vec::new(), Words::default());
    for (id, (manifest, attached)) in modules {
        let mut number = 0;
        for unit in &attached.units {
            let first = tests.len();
            let words: Vec<Words> = (number..number + unit.tests.len())
                .map(|test| counts.get(&(*id, test)).copied().unwrap_or_default())
                .collect();
            number += unit.tests.len();
            let (unit_name, unit_place) = (name(manifest, unit.function), place(manifest, unit.function, sources));
            tests.extend(unit.tests.iter().zip(&words).map(|(test, words)| Test {
                unit: unit_name.clone(),
                unit_place: unit_place.clone(),
                test: name(manifest, test.function),
                test_place: place(manifest, test.function, sources),
                opaque: unit.opaque.clone(),
                numbers: Numbers::of(words),
            }));
            let together = of_unit(&words);
            all.iter_mut().zip(together).for_each(|(s, n)| *s += n);
            units.push(Unit {
                unit: unit_name,
                unit_place,
                opaque: unit.opaque.clone(),
                numbers: Numbers::of(&together),
                tests: first..tests.len(),
            });
        }
    }
    Findings {
        failures: failures(modules, told, reader),
        units,
        tests,
        summary: Numbers::of(&all),
        cost: Cost::of(&all),
        root: sources.root().to_string_lossy().into_owned(),
        ..Findings::default()
    }
}

/// One for each test, outcome and state, the first; failures before crashes, and what could not be run last.
fn failures(modules: &BTreeMap<ModuleId, Module>, told: &[Told], reader: &mut Reader<'_>) -> Vec<Failure> {
    let sources = reader.sources;
    let modules: BTreeMap<String, &Module> = modules.iter().map(|(id, module)| (id.to_string(), module)).collect();
    let (mut all, mut places): (Vec<Failure>, HashMap<(String, Ending), usize>) = Default::default();
    for one in told {
        let Some((manifest, attached)) = modules.get(&one.module) else { continue };
        let Some((unit, test)) = pair(attached, one.test) else { continue };
        let (outcome, details) = Ending::of(&one.outcome);
        let id = one.id();
        if let Some(place) = places.get(&(id.clone(), outcome)) {
            all[*place].more += 1;
            continue;
        }
        places.insert((id.clone(), outcome), all.len());
        all.push(Failure {
            id,
            unit: name(manifest, unit.function),
            unit_place: place(manifest, unit.function, sources),
            test: name(manifest, test),
            test_place: place(manifest, test, sources),
            outcome,
            details: details.into(),
            state: one.state.clone(),
            output: one.output.clone(),
            pid: one.pid,
            time: one.time,
            build: one.module.clone(),
            more: 0,
            account: reader.read(one, manifest, unit),
        });
    }
    all.sort_by_key(|f| (f.outcome, f.time));
    all
}

/// Unit and test of that number in a module: indices of functions.
pub(super) fn pair(attached: &Attachments, number: u32) -> Option<(&Attached, u32)> {
    let mut all = attached.units.iter().flat_map(|u| u.tests.iter().map(move |t| (u, t.function)));
    all.nth(number as usize)
}

pub(super) fn name(manifest: &Manifest, function: u32) -> String {
    manifest.functions.get(function as usize).map_or_else(|| "?".into(), |f| names::demangle(&f.name))
}

fn place(manifest: &Manifest, function: u32, sources: &Sources) -> Option<Spot> {
    sources.spot(manifest, manifest.functions.get(function as usize)?.place?)
}
