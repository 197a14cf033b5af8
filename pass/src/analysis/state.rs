//! What the mechanism `state` does to functions with tests: plain data for `instrument/state.rs` and `emit`.
//!
//! The state of a unit is what it and its tests read. What they may write belongs to it in so far as it tells which pointers lead to
//! the same place.

use super::Sets;
use super::attached::{Attached, Test};
use crate::llvm::Function;
use crate::plan::Plan;
use rustc_hash::FxHashMap as HashMap;
use unseen_abi::deps::{self, Deps, Item, Link, Path, What};
use unseen_abi::sets::{Extent, Offset, Place};
use unseen_abi::state::{self, Kind, OPAQUE, TRACED};

/// Parameters beyond are no part of a state that can be told.
const MOST_PARAMS: u32 = 64;
/// States of so many bytes are kept as they are.
const MOST_EXACT: u64 = 16;

/// States of more bytes are not watched.
const MOST_WATCHED: u64 = 64;

/// The library's variables for streams.
const STREAMS: [&str; 3] = ["stdin", "stdout", "stderr"];

/// What is done in a module.
pub struct StatePlan {
    pub units: Vec<UnitPlan>,
    /// Two functions for each unit: what is read, and what may be written, both as `reads`.
    pub sets: Deps,
    /// Which of the module's variables each global of `sets` is.
    pub globals: Vec<u32>,
}

/// A unit.
pub struct UnitPlan {
    pub function: Function,
    pub tests: Vec<Test>,
    /// For a state that is a few bytes and nothing else: where these are.
    pub key: Vec<Piece>,
    /// What the runtime is told of it.
    pub told: state::Unit,
    /// What the driver is told of it.
    pub attached: state::Attached,
}

/// A piece of a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece {
    Param {
        number: u32,
        size: u64,
    },
    /// Bytes of a variable of the module, by its number there.
    Variable {
        variable: u32,
        offset: u64,
        size: u64,
    },
}

/// Puts the sets of units and tests together. `with_traces`: functions will be inlined and simplified, without which traces are short.
pub fn plan(attached: &[Attached], functions: &[Function], plan: &Plan, sets: &Sets, with_traces: bool) -> StatePlan {
    let Sets { deps, globals, others } = sets;
    let numbers: HashMap<Function, u32> =
        (0..).zip(&plan.functions).map(|(number, f)| (functions[f.index], number)).collect();
    let sets: HashMap<u32, &deps::Function> = deps.functions.iter().map(|f| (f.function, f)).collect();
    let mut used = Used { from: deps, out: Deps::default(), paths: HashMap::default(), globals: HashMap::default() };
    let (mut units, mut first) = (Vec::new(), 0);
    for Attached { unit, tests } in attached {
        let function = numbers.get(unit).copied().unwrap_or_default();
        let of = |f: &Function| match others.iter().find(|(other, _)| other == f) {
            Some((_, set)) => Some(set),
            None => numbers.get(f).and_then(|n| sets.get(n)).copied(),
        };
        // A test has no place for a result that is returned in memory: its parameters are the unit's behind that.
        let results =
            (0..unit.signature().0.len() as u32).filter(|i| unit.param_has_attribute(*i, "sret")).count() as u32;
        let of_tests = tests.iter().filter_map(|t| match (t.both, t.function) {
            (Some(both), _) => Some((of(&both), 0)),
            (None, test) => Some((of(&test?), results)),
        });
        let together: Vec<(Option<&deps::Function>, u32)> = std::iter::once((of(unit), 0)).chain(of_tests).collect();
        let mut told = state::Unit { params: 0, pointers: 0, first, tests: tests.len() as u32, flags: 0, exact: 0 };
        first += told.tests;
        let opaque = together.iter().find_map(|(set, _)| match set {
            Some(set) => why_opaque(set),
            None => Some("its set is not known".into()),
        });
        let known: Vec<Set> = together.into_iter().filter_map(|(set, shift)| Some((set?, shift))).collect();
        let layout = unit.module().layout();
        let sizes: Vec<u64> = unit.signature().0.iter().map(|ty| layout.stored_size(*ty)).collect();
        let opaque = opaque.or_else(|| params(&known, &sizes, &mut told).err());
        let reads = if opaque.is_some() { Vec::new() } else { used.union(&known, |f| &f.reads) };
        let writes = used.union(&known, |f| &f.writes);
        let mut key = Vec::new();
        if opaque.is_some() {
            (told.params, told.pointers, told.flags) = (0, 0, OPAQUE);
        } else if let Some(pieces) = exact(&told, &sizes, &used, &reads, &writes, globals) {
            told.exact = pieces.iter().map(Piece::size).sum::<u64>().max(1) as u32;
            key = pieces;
        } else if with_traces && can_be_traced(*unit, tests) {
            told.flags = TRACED;
        }
        let reads_told = reads.iter().filter_map(|item| item.via).collect();
        used.out.functions.push(deps::Function { reads, ..deps::Function::default() });
        used.out.functions.push(deps::Function { reads: writes, ..deps::Function::default() });
        let number = |t: &Test| t.function.map_or(function, |t| numbers.get(&t).copied().unwrap_or_default());
        let tests_told = tests.iter().map(|t| state::Test { function: number(t), kind: t.kind });
        units.push(UnitPlan {
            function: *unit,
            tests: tests.clone(),
            key,
            told,
            attached: state::Attached {
                function,
                tests: tests_told.collect(),
                opaque: opaque.unwrap_or_default(),
                reads: reads_told,
            },
        });
    }
    let Used { out, globals: named, .. } = used;
    let mut variables = vec![u32::MAX; out.globals.len()];
    for (old, new) in named {
        variables[new as usize] = globals.get(old as usize).copied().unwrap_or(u32::MAX);
    }
    StatePlan { units, sets: out, globals: variables }
}

/// Whether what a call reads can be told by copies of the unit and of its tests. Not of tests that run after it, which read what it has
/// written, nor of what is called in the program itself.
fn can_be_traced(unit: Function, tests: &[Test]) -> bool {
    unit.can_be_traced()
        && tests.iter().all(|test| match test.kind {
            Kind::Before => test.function.is_some_and(Function::can_be_traced),
            Kind::Determinism | Kind::Watch => true,
            Kind::After | Kind::Rescue => false,
        })
}

/// Whether a function's state is known, and how many bytes it has at most, where these are no more than 64.
pub fn is_small(set: &deps::Function) -> bool {
    let size = |item: &Item| match item.what {
        What::Param(i) => set.params.get(i as usize).map(|p| p.size).filter(|size| (1..=8).contains(size)),
        What::Memory(Place { offset: Offset::At(_), extent: Extent::Bytes(n), .. }) => Some(n),
        What::Memory(_) => None,
    };
    let bytes = set.reads.iter().try_fold(0_u64, |sum, item| sum.checked_add(size(item)?));
    why_opaque(set).is_none() && bytes.is_some_and(|bytes| bytes <= MOST_WATCHED)
}

/// A function's set, and by how many its parameters come before those of the unit.
type Set<'a> = (&'a deps::Function, u32);

/// Why the state does not decide what the function does.
fn why_opaque(set: &deps::Function) -> Option<String> {
    let because = set.reasons.iter().find(|b| !b.ends)?;
    let name = if because.name.is_empty() { String::new() } else { format!(": {}", because.name) };
    Some(format!("{}{name}", because.reason.text()))
}

/// Notes which parameters count.
fn params(sets: &[Set], sizes: &[u64], told: &mut state::Unit) -> Result<(), String> {
    for (set, shift) in sets {
        for item in &set.reads {
            let What::Param(i) = item.what else { continue };
            let param = set.params.get(i as usize);
            let i = i + shift;
            let size = sizes.get(i as usize).copied().unwrap_or(0);
            let Some(param) = param.filter(|_| i < MOST_PARAMS && (1..=8).contains(&size)) else {
                return Err("a parameter has more than 8 bytes".into());
            };
            told.params |= 1 << i;
            told.pointers |= u64::from(param.pointer) << i;
        }
    }
    Ok(())
}

impl Piece {
    fn size(&self) -> u64 {
        match *self {
            Piece::Param { size, .. } | Piece::Variable { size, .. } => size,
        }
    }
}

/// The pieces of a state that is a few bytes which always lie at the same places.
fn exact(
    told: &state::Unit,
    sizes: &[u64],
    used: &Used,
    reads: &[Item],
    writes: &[Item],
    globals: &[u32],
) -> Option<Vec<Piece>> {
    let global = |path: u32| match used.out.paths[path as usize] {
        Path::Global(g) => Some(g),
        _ => None,
    };
    // What is written behind a pointer may be what is read: then it counts where the pointer leads.
    if writes.iter().any(|item| matches!(item.what, What::Memory(place) if global(place.path).is_none())) {
        return None;
    }
    let mut pieces = Vec::new();
    for number in (0..MOST_PARAMS).filter(|i| told.params >> i & 1 == 1) {
        let size = sizes.get(number as usize).copied().unwrap_or(0);
        pieces.push(Piece::Param { number, size });
    }
    for item in reads {
        match item.what {
            What::Memory(Place { path, offset: Offset::At(at), extent: Extent::Bytes(size) }) => {
                let variable = used.variable(global(path)?, globals).filter(|v| *v != u32::MAX)?;
                let offset = u64::try_from(at).ok()?;
                pieces.push(Piece::Variable { variable, offset, size });
            }
            What::Memory(_) => return None,
            What::Param(_) => {}
        }
    }
    let bytes: u64 = pieces.iter().map(Piece::size).sum();
    (told.pointers == 0 && bytes <= MOST_EXACT).then_some(pieces)
}

/// Sets with only those paths and globals that they use.
struct Used<'a> {
    from: &'a Deps,
    out: Deps,
    /// By path, and by how many parameters are moved in it.
    paths: HashMap<(u32, u32), u32>,
    globals: HashMap<u32, u32>,
}

impl Used<'_> {
    /// Items without repetition, in the order of the first set that has them, each with the item that it is there.
    fn union(&mut self, sets: &[Set], items: impl Fn(&deps::Function) -> &Vec<Item>) -> Vec<Item> {
        let mut out: Vec<Item> = Vec::new();
        let function = |set: &deps::Function| {
            // Functions that were only made for the analysis are not listed: nobody knows their items.
            self.from.functions.iter().position(|f| std::ptr::eq(f, set)).map_or(u32::MAX, |n| n as u32)
        };
        let numbered: Vec<(Set, u32)> = sets.iter().map(|set| (*set, function(set.0))).collect();
        let all = numbered.iter().flat_map(|((set, shift), function)| {
            (0..).zip(items(set)).map(move |(n, item)| (item, *shift, Link { function: *function, item: n }))
        });
        for (item, shift, link) in all {
            let What::Memory(place) = item.what else { continue };
            if self.is_stream(place.path) {
                continue;
            }
            let extent = match place.extent {
                Extent::ByMemory { path, at, size, scale } => {
                    Extent::ByMemory { path: self.path(path, shift), at, size, scale }
                }
                Extent::ByParam { param, scale } => Extent::ByParam { param: param + shift, scale },
                other => other,
            };
            let what = What::Memory(Place { path: self.path(place.path, shift), offset: place.offset, extent });
            if out.iter().all(|o| o.what != what) {
                out.push(Item { what, at: None, via: Some(link) });
            }
        }
        out
    }

    /// Whether a path begins at one of the library's variables for streams. What the library keeps for itself is no state, and where
    /// it keeps it differs from process to process.
    fn is_stream(&self, mut path: u32) -> bool {
        loop {
            path = match &self.from.paths[path as usize] {
                Path::Deref { from, .. } | Path::Closure { from, .. } | Path::Reach { from } => *from,
                Path::Global(g) => {
                    let global = &self.from.globals[*g as usize];
                    return global.size == 0 && STREAMS.contains(&global.name.as_str());
                }
                Path::Param(_) | Path::Variadic => return false,
            }
        }
    }

    fn path(&mut self, old: u32, shift: u32) -> u32 {
        if let Some(new) = self.paths.get(&(old, shift)) {
            return *new;
        }
        let path = match self.from.paths[old as usize].clone() {
            Path::Global(g) => Path::Global(self.global(g)),
            Path::Deref { from, at } => Path::Deref { from: self.path(from, shift), at },
            Path::Closure { from, at } => Path::Closure { from: self.path(from, shift), at },
            Path::Reach { from } => Path::Reach { from: self.path(from, shift) },
            Path::Param(i) => Path::Param(i + shift),
            Path::Variadic => Path::Variadic,
        };
        let new = self.out.paths.len() as u32;
        self.out.paths.push(path);
        self.paths.insert((old, shift), new);
        new
    }

    /// Which of the module's variables a global of the new sets is.
    fn variable(&self, new: u32, globals: &[u32]) -> Option<u32> {
        let (old, _) = self.globals.iter().find(|(_, n)| **n == new)?;
        globals.get(*old as usize).copied()
    }

    fn global(&mut self, old: u32) -> u32 {
        let out = &mut self.out.globals;
        *self.globals.entry(old).or_insert_with(|| {
            out.push(self.from.globals[old as usize].clone());
            out.len() as u32 - 1
        })
    }
}
