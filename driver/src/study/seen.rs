//! Seen sets: how many states of which tests are in them, and what that takes.

use std::collections::BTreeMap;

use serde::Serialize;
use unseen_abi::manifest::Manifest;
use unseen_abi::state::Attachments;

use super::tests::{name, pair};
use crate::store::ModuleId;
use crate::store::seen;

/// What came out.
#[derive(Debug, Serialize)]
pub struct Findings {
    pub sets: Vec<Set>,
}

/// What a store, or a file, has of a build.
#[derive(Debug, Serialize)]
pub struct Set {
    /// The id of the build.
    pub build: String,
    /// The store, or the file.
    pub place: String,
    /// States, each counted once.
    pub states: u64,
    /// Bytes of all files.
    pub bytes: u64,
    pub bytes_per_state: f64,
    /// Narrow states among the wide.
    pub spilled: u64,
    /// States that were imported, and wait for a program of the build to start.
    pub waiting: u64,
    pub tables: Vec<Table>,
    pub tests: Vec<Test>,
}

/// A file in which programs keep states.
#[derive(Debug, Serialize)]
pub struct Table {
    /// `narrow` (up to 8 bytes) or `wide`.
    pub width: &'static str,
    pub states: u64,
    pub bytes: u64,
    pub lines: u64,
    /// How much of what the lines have room for is taken, in per cent.
    pub full: f64,
    /// Whether some found no place, and are among the wide.
    pub spilled: bool,
}

/// The states of a test.
#[derive(Debug, Serialize)]
pub struct Test {
    /// Its number among all of the build.
    pub number: u32,
    /// Its name, and its unit's, if the program is known.
    pub test: Option<String>,
    pub unit: Option<String>,
    pub states: u64,
}

/// Looks at sets, each with where it is.
pub fn study(modules: &BTreeMap<ModuleId, (Manifest, Attachments)>, sets: &[(String, seen::Set)]) -> Findings {
    Findings { sets: sets.iter().map(|(place, set)| one(modules, place, set)).collect() }
}

fn one(modules: &BTreeMap<ModuleId, (Manifest, Attachments)>, place: &str, set: &seen::Set) -> Set {
    let id = ModuleId(set.states.id);
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    let units = set.states.narrow().iter().map(|k| k.unit).chain(set.states.wide().iter().map(|k| k.unit));
    for unit in units {
        *counts.entry(unit).or_default() += 1;
    }
    let states = set.states.count() as u64;
    let tests = counts.into_iter().map(|(number, states)| {
        let names = modules.get(&id).and_then(|(manifest, attached)| {
            let (unit, test) = pair(attached, number)?;
            Some((name(manifest, unit.function), name(manifest, test)))
        });
        let (unit, test) = names.unzip();
        Test { number, test, unit, states }
    });
    let tables = set.tables.iter().map(|table| Table {
        width: if table.is_wide { "wide" } else { "narrow" },
        states: table.taken,
        bytes: table.bytes,
        lines: table.lines,
        full: 100.0 * table.taken as f64 / table.room.max(1) as f64,
        spilled: table.is_spilled,
    });
    Set {
        build: id.to_string(),
        place: place.into(),
        states,
        bytes: set.bytes,
        bytes_per_state: set.bytes as f64 / states.max(1) as f64,
        spilled: set.spilled,
        waiting: set.waiting as u64,
        tables: tables.collect(),
        tests: tests.collect(),
    }
}
