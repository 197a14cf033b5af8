//! Tests that ran inside programs: what became of them, and in how many states their units were called.

use std::collections::BTreeMap;

use serde::Serialize;
use unseen_abi::manifest::Manifest;
use unseen_abi::state::{Attachments, FILE, Tally};

use super::names;
use super::sources::Sources;
use crate::store::ModuleId;
use crate::store::attached::Told;
use crate::store::tallies::Tallies;

/// What came out.
#[derive(Debug, Serialize)]
pub struct Findings {
    pub failures: Vec<Failure>,
    pub tests: Vec<Test>,
    pub summary: Summary,
}

/// A test that did not pass.
#[derive(Debug, Serialize)]
pub struct Failure {
    pub unit: String,
    pub unit_place: Option<String>,
    pub test: String,
    pub test_place: Option<String>,
    /// `fail`, `crash`, `timeout` or `environment`.
    pub outcome: String,
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
    /// How many more of the same test ended in the same way.
    pub more: u64,
}

/// A test of a unit.
#[derive(Debug, Serialize)]
pub struct Test {
    pub unit: String,
    pub unit_place: Option<String>,
    pub test: String,
    /// Why it runs at each call; empty if the state decides.
    pub opaque: String,
    pub calls: u64,
    /// Calls in states that no test had seen.
    pub unseen: u64,
    /// Calls whose state could not be told.
    pub untold: u64,
    pub passed: u64,
    pub failed: u64,
    pub crashed: u64,
    pub late: u64,
    pub hindered: u64,
    pub skipped: u64,
    /// Tests that were due but not run, to keep to the budget or because only some calls are looked at.
    pub spared: u64,
    /// Calls in states outside the seen set, in a program that is only watched, and how many were rescued.
    pub strange: u64,
    pub rescued: u64,
    /// Of the calls, in per cent; those whose state could not be told count as distinct.
    pub distinct_states: f64,
    /// Means per test that ran, in µs.
    pub stall_us: f64,
    pub wall_us: f64,
    pub cpu_us: f64,
}

/// In all.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    pub calls: u64,
    pub ran: u64,
    pub passed: u64,
    pub failed: u64,
    pub crashed: u64,
    pub late: u64,
    pub hindered: u64,
    pub skipped: u64,
}

/// A unit, one of its tests, and why the test always runs.
pub(super) type Named<'a> = (&'a Manifest, u32, u32, &'a str);

/// The test of that number in a module.
pub(super) fn test_of<'a>(manifest: &'a Manifest, attached: &'a Attachments, number: u32) -> Option<Named<'a>> {
    let all = attached.units.iter().flat_map(|u| u.tests.iter().map(move |t| (u, t)));
    let (unit, test) = all.into_iter().nth(number as usize)?;
    Some((manifest, unit.function, test.function, &unit.opaque))
}

/// Puts together what runs left.
pub fn study(
    modules: &BTreeMap<ModuleId, (Manifest, Attachments)>,
    tallies: &[Tallies],
    told: &[Told],
    sources: &Sources,
) -> Findings {
    let mut counts: BTreeMap<(ModuleId, u32), [u64; FILE.words]> = BTreeMap::new();
    for file in tallies {
        for (test, words) in (0..).zip(&file.units) {
            let sum = counts.entry((file.id, test)).or_default();
            sum.iter_mut().zip(words).for_each(|(s, n)| *s += n);
        }
    }
    let (mut tests, mut summary) = (Vec::new(), Summary::default());
    for ((id, number), words) in &counts {
        let Some((manifest, attached)) = modules.get(id) else { continue };
        let Some((manifest, unit, test, opaque)) = test_of(manifest, attached, *number) else { continue };
        let get = |tally: Tally| words[tally as usize];
        let ran: u64 = Tally::OVER.map(get).iter().sum();
        let mean = |tally: Tally| get(tally) as f64 / 1000.0 / ran.max(1) as f64;
        let calls = get(Tally::Calls);
        summary.calls += calls;
        summary.ran += ran;
        summary.passed += get(Tally::Passed);
        summary.failed += get(Tally::Failed);
        summary.crashed += get(Tally::Crashed);
        summary.late += get(Tally::Late);
        summary.hindered += get(Tally::Hindered);
        summary.skipped += get(Tally::Skipped);
        tests.push(Test {
            unit: name(manifest, unit),
            unit_place: place(manifest, unit, sources),
            test: name(manifest, test),
            opaque: opaque.into(),
            calls,
            unseen: get(Tally::Unseen),
            untold: get(Tally::Untold),
            passed: get(Tally::Passed),
            failed: get(Tally::Failed),
            crashed: get(Tally::Crashed),
            late: get(Tally::Late),
            hindered: get(Tally::Hindered),
            skipped: get(Tally::Skipped),
            spared: get(Tally::Spared),
            strange: get(Tally::Strange),
            rescued: get(Tally::Rescued),
            distinct_states: 100.0 * (get(Tally::Unseen) + get(Tally::Untold)) as f64 / calls.max(1) as f64,
            stall_us: mean(Tally::Stall),
            wall_us: mean(Tally::Wall),
            cpu_us: mean(Tally::Cpu),
        });
    }
    Findings { failures: failures(modules, told, sources), tests, summary }
}

/// One for each test and outcome, the first; failures before crashes, and what could not be run last.
fn failures(modules: &BTreeMap<ModuleId, (Manifest, Attachments)>, told: &[Told], sources: &Sources) -> Vec<Failure> {
    let mut all: Vec<Failure> = Vec::new();
    for one in told {
        let known = modules.iter().find(|(id, _)| id.to_string() == one.module);
        let Some((_, (manifest, attached))) = known else { continue };
        let Some((manifest, unit, test, _)) = test_of(manifest, attached, one.test) else { continue };
        let (outcome, details) = one.outcome.split_once(' ').unwrap_or((&one.outcome, ""));
        let (unit_name, test_name) = (name(manifest, unit), name(manifest, test));
        let same = |f: &&mut Failure| (&f.unit, &f.test, f.outcome.as_str()) == (&unit_name, &test_name, outcome);
        if let Some(known) = all.iter_mut().find(same) {
            known.more += 1;
            continue;
        }
        all.push(Failure {
            unit_place: place(manifest, unit, sources),
            test_place: place(manifest, test, sources),
            unit: unit_name,
            test: test_name,
            outcome: outcome.into(),
            details: details.into(),
            state: one.state.clone(),
            output: one.output.clone(),
            pid: one.pid,
            time: one.time,
            build: one.module.clone(),
            more: 0,
        });
    }
    let order = ["fail", "crash", "timeout"];
    all.sort_by_key(|f| (order.iter().position(|o| *o == f.outcome).unwrap_or(order.len()), f.time));
    all
}

pub(super) fn name(manifest: &Manifest, function: u32) -> String {
    manifest.functions.get(function as usize).map_or_else(|| "?".into(), |f| names::demangle(&f.name))
}

fn place(manifest: &Manifest, function: u32, sources: &Sources) -> Option<String> {
    sources.at(manifest, manifest.functions.get(function as usize)?.place)
}
