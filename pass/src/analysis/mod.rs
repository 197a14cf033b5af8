//! Reads the module, never changes it: which functions are instrumented, and how.

pub mod access;
pub mod attached;
mod bits;
pub mod cfg;
mod choice;
pub mod cover;
pub mod deps;
pub mod dominators;
pub mod repeats;
pub mod sources;
pub mod state;
mod stops;

use crate::llvm::{Function, Module};
use crate::options::Options;
use crate::plan::{FunctionPlan, Plan};
use unseen_abi::deps::Deps;
use unseen_abi::manifest::{Outcome, Place};
use unseen_abi::mechanism::{Mechanism, Mechanisms};

/// Decides what is done to each of the module's functions.
pub fn plan(functions: &[Function], options: &Options) -> Plan {
    let stops = stops::Stops::of(functions);
    let mut sources = sources::Sources::default();
    let mut plans: Vec<FunctionPlan> = Vec::with_capacity(functions.len());
    let mut probes = 0;
    for (index, function) in functions.iter().enumerate() {
        let subprogram = function.subprogram();
        let file = subprogram.and_then(|s| s.file()).map(|f| sources.file(f));
        let mut plan = FunctionPlan {
            index,
            name: function.name(),
            source_name: subprogram.map(|s| s.name()).unwrap_or_default(),
            place: file.map(|file| Place { file, line: subprogram.map_or(0, |s| s.line()), column: 0 }),
            outcome: Outcome::Instrumented(Mechanisms::default()),
            cover: None,
        };
        if choice::is_ours(&plan.name) {
            continue;
        }
        plan.outcome = match choice::reason_to_leave(*function, file.map(|f| sources.path(f)), options) {
            Some(reason) => Outcome::Left(reason),
            None => Outcome::Instrumented(options.mechanisms),
        };
        if matches!(plan.outcome, Outcome::Instrumented(m) if m.has(Mechanism::Cover)) {
            let cfg = cfg::Cfg::of(*function, &stops, &mut sources);
            let cover = cover::place(&cfg, probes);
            probes += cover.sites.len() as u32;
            plan.cover = Some(cover);
        }
        plans.push(plan);
    }
    Plan { files: sources.into_files(), functions: plans }
}

/// Functions that are to be watched, and can be.
pub fn watched(
    functions: &[Function],
    options: &Options,
    plan: &Plan,
    attached: &[attached::Attached],
    sets: &Sets,
) -> Vec<attached::Attached> {
    let small: rustc_hash::FxHashSet<usize> = sets
        .deps
        .functions
        .iter()
        .filter(|set| state::is_small(set))
        .map(|set| plan.functions[set.function as usize].index)
        .collect();
    let planned = plan.functions.iter().filter(|f| matches!(f.outcome, Outcome::Instrumented(_)));
    let chosen: Vec<Function> = planned.filter(|f| small.contains(&f.index)).map(|f| functions[f.index]).collect();
    attached::watched(&chosen, options, attached)
}

/// Dependency sets.
pub struct Sets {
    /// Those of the plan's functions.
    pub deps: Deps,
    /// Which of the module's variables each global of theirs is.
    pub globals: Vec<u32>,
    /// Those of functions that are not part of the plan.
    pub others: Vec<(Function, unseen_abi::deps::Function)>,
}

/// The dependency sets of the plan's functions and of `others`. Files that only they name join the plan's.
pub fn dependencies(
    module: Module,
    functions: &[Function],
    others: &[Function],
    options: &Options,
    plan: &mut Plan,
) -> Sets {
    let mut sources = sources::Sources::after(std::mem::take(&mut plan.files));
    let analysed = deps::analyse(module, functions, options, &mut sources);
    let mut numbers = vec![None; functions.len()];
    for (number, function) in plan.functions.iter().enumerate() {
        numbers[function.index] = Some(number as u32);
    }
    let planned = plan.functions.len() as u32;
    for (number, other) in (planned..).zip(others) {
        if let Some(index) = functions.iter().position(|f| f == other) {
            numbers[index] = Some(number);
        }
    }
    plan.files = sources.into_files();
    let (mut deps, globals) = deps::encode::encode(&analysed, &numbers);
    let other = |f: &unseen_abi::deps::Function| others.get(f.function.checked_sub(planned)? as usize).copied();
    let others = deps.functions.iter().filter_map(|f| Some((other(f)?, f.clone()))).collect();
    deps.functions.retain(|f| f.function < planned);
    let index = |f: &unseen_abi::deps::Function| functions[plan.functions[f.function as usize].index];
    let named: Vec<Function> = deps.functions.iter().map(index).collect();
    deps::names::add(&mut deps, &named, &module.variables());
    Sets { deps, globals, others }
}
