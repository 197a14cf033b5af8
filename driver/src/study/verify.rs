//! What units read, held against their dependency sets: findings from a run of a program built with `access`.

use std::collections::BTreeMap;

use serde::Serialize;
use unseen_abi::access::{FILE, Sites, Tally};
use unseen_abi::deps::Deps;
use unseen_abi::manifest::Manifest;

use super::names;
use super::sources::Sources;
use crate::store::ModuleId;
use crate::store::access::{self, Object};
use crate::store::tallies::Tallies;

/// A module that was watched.
pub struct Module {
    pub manifest: Manifest,
    pub deps: Deps,
    pub sites: Sites,
}

/// What came out.
#[derive(Debug, Serialize)]
pub struct Findings {
    /// How the program ended.
    pub ending: String,
    pub units: Vec<Unit>,
    pub misses: Vec<Miss>,
    pub summary: Summary,
}

/// A unit that was called.
#[derive(Debug, Serialize)]
pub struct Unit {
    pub name: String,
    pub symbol: String,
    pub place: Option<String>,
    pub calls: u64,
    /// Calls that were held against the set to their end.
    pub checked: u64,
    /// Calls that were held against the set for a while.
    pub partly: u64,
    /// Calls whose set could not be walked.
    pub unwalked: u64,
    /// Bytes in the sets of the checked calls, and those of them that were read.
    pub set_bytes: u64,
    pub read_bytes: u64,
    pub missed_bytes: u64,
    /// The set is not said to be complete: nothing is checked.
    pub hidden: bool,
}

/// A read outside a set.
#[derive(Debug, Serialize)]
pub struct Miss {
    /// The unit whose set lacks it.
    pub unit: String,
    pub place: Option<String>,
    /// The function and line that read.
    pub function: String,
    pub at: Option<String>,
    /// `limit + 4`, `heap object of 16 bytes + 8`, ...
    pub object: String,
    pub bytes: u64,
    /// Who called whom, outermost first.
    pub chain: Vec<String>,
    pub pid: u32,
}

/// In all.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    pub processes: usize,
    /// Units that were called.
    pub called: usize,
    /// Units of which at least one call was checked.
    pub checked: usize,
    /// Units that were called, but whose sets are not said to be complete.
    pub hidden: usize,
    /// Units with complete sets of which calls were checked, but none to its end.
    pub partly: usize,
    /// Units that were called, with complete sets, of which no call was checked.
    pub unchecked: usize,
    pub checked_calls: u64,
    pub calls: u64,
    pub unwalked_calls: u64,
    pub set_bytes: u64,
    pub read_bytes: u64,
    pub misses: usize,
}

/// Puts together what a run left.
pub fn study(
    modules: &BTreeMap<ModuleId, Module>,
    tallies: &[Tallies],
    misses: &[access::Miss],
    ending: String,
    sources: &Sources,
) -> Findings {
    let mut counts: BTreeMap<(ModuleId, usize), [u64; FILE.words]> = BTreeMap::new();
    let mut summary = Summary::default();
    let mut pids: Vec<u32> = tallies.iter().map(|t| t.pid).collect();
    pids.sort_unstable();
    pids.dedup();
    summary.processes = pids.len();
    for file in tallies {
        for (unit, words) in file.units.iter().enumerate().filter(|(_, w)| w.iter().any(|n| *n > 0)) {
            let sum = counts.entry((file.id, unit)).or_default();
            sum.iter_mut().zip(words).for_each(|(s, n)| *s += n);
        }
    }
    let mut units = Vec::new();
    for ((id, unit), words) in &counts {
        let Some(module) = modules.get(id) else { continue };
        let Some(function) = module.deps.functions.get(*unit) else { continue };
        let known = &module.manifest.functions[function.function as usize];
        let get = |tally: Tally| words[tally as usize];
        let unit = Unit {
            name: names::demangle(&known.name),
            symbol: known.name.clone(),
            place: sources.at(&module.manifest, known.place),
            calls: get(Tally::Calls),
            checked: get(Tally::Checked),
            partly: get(Tally::Partly),
            unwalked: get(Tally::Unwalked),
            set_bytes: get(Tally::Set),
            read_bytes: get(Tally::Read),
            missed_bytes: get(Tally::Missed),
            hidden: function.hides(),
        };
        summary.called += 1;
        summary.calls += unit.calls;
        summary.checked_calls += unit.checked;
        summary.unwalked_calls += unit.unwalked;
        summary.set_bytes += unit.set_bytes;
        summary.read_bytes += unit.read_bytes;
        match (unit.hidden, unit.checked, unit.partly) {
            (true, ..) => summary.hidden += 1,
            (false, 0, 0) => summary.unchecked += 1,
            (false, 0, _) => summary.partly += 1,
            _ => summary.checked += 1,
        }
        units.push(unit);
    }
    units.sort_by(|a, b| (&a.name, &a.symbol).cmp(&(&b.name, &b.symbol)));
    let mut found: Vec<Miss> = misses.iter().filter_map(|m| describe(modules, m, sources)).collect();
    // Processes of one run may find the same.
    found.sort_by(|a, b| (&a.unit, &a.at, &a.function).cmp(&(&b.unit, &b.at, &b.function)));
    found.dedup_by(|a, b| (&a.unit, &a.at, &a.function, &a.object) == (&b.unit, &b.at, &b.function, &b.object));
    summary.misses = found.len();
    Findings { ending, units, misses: found, summary }
}

fn describe(modules: &BTreeMap<ModuleId, Module>, miss: &access::Miss, sources: &Sources) -> Option<Miss> {
    let (_, module) = modules.iter().find(|(id, _)| id.to_string() == miss.module)?;
    let function = |unit: &u32| {
        let function = module.deps.functions.get(*unit as usize)?;
        module.manifest.functions.get(function.function as usize)
    };
    let name = |unit: &u32| function(unit).map_or_else(|| "?".into(), |f| names::demangle(&f.name));
    let site = module.sites.sites.get(miss.site as usize);
    let reader = site.and_then(|s| module.manifest.functions.get(s.function as usize));
    let object = match &miss.object {
        Object::Variable { number, offset } => {
            let name = module.sites.variables.get(*number as usize).map_or("?", String::as_str);
            format!("{} + {offset}", names::demangle(name))
        }
        Object::Heap { size, offset } => format!("heap object of {size} bytes + {offset}"),
        Object::Stack => "a caller's local variable".into(),
        Object::Unknown => "memory of unknown origin".into(),
    };
    Some(Miss {
        unit: name(&miss.unit),
        place: function(&miss.unit).and_then(|f| sources.at(&module.manifest, f.place)),
        function: reader.map_or_else(|| "?".into(), |f| names::demangle(&f.name)),
        at: site.and_then(|s| sources.at(&module.manifest, s.at)),
        object,
        bytes: miss.bytes,
        chain: miss.chain.iter().map(name).collect(),
        pid: miss.pid,
    })
}
