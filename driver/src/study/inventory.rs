//! The inventory of a binary: every function, whether and how it is instrumented, or why not.
//!
//! Its functions are those that a manifest defines, plus those that only the symbol table has: native code that
//! came without bitcode. Our own are left out: what is named `__unseen_...`, and local symbols of the crate
//! `unseen_rt` (scripts/build-runtime sees to it that the runtime has no others).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde::Serialize;
use unseen_abi::manifest::{Function, Manifest, Outcome, Reason, Scope};
use unseen_abi::mechanism::Mechanisms;
use unseen_abi::sections::{RUNTIME_CRATE, SYMBOL_PREFIX};

use super::names;
use super::sources::Sources;
use crate::store::ModuleId;
use crate::store::binary::{self, Binary, Symbol};

/// The file symbol that lld gives to what it compiled from bitcode.
const LTO_FILE: &str = "ld-temp.o";

/// Everything `unseen manifest` says.
#[derive(Debug, Default, Serialize)]
pub struct Inventory {
    pub binary: String,
    pub summary: Summary,
    /// `program` if the pass saw everything that came as bitcode at once, `translation units` if one at a time, `nothing` if nothing
    /// did.
    pub scope: &'static str,
    /// What was asked for.
    pub mechanisms: Vec<&'static str>,
    /// Versions of Unseen and LLVM.
    pub producers: Vec<String>,
    /// Module ids.
    pub modules: Vec<String>,
    /// How many functions there are of each kind and reason.
    pub counts: BTreeMap<String, usize>,
    /// Sorted: by kind, then by place, then by name.
    pub functions: Vec<Listed>,
    /// Objects and archives that came in without bitcode.
    pub native_inputs: Vec<String>,
    /// Compile steps that Unseen declined.
    pub declined: Vec<Declined>,
    /// The symbol table was removed: native functions can't be told.
    pub stripped: bool,
    /// Unseen's own symbols, left out.
    pub own_symbols: usize,
}

/// `instrumented` of `functions`. Counted are functions with code in the binary or in the bitcode it was made from:
/// every kind but [`Kind::External`], [`Kind::InlineCopy`] and [`Kind::CompilerMade`].
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Summary {
    pub instrumented: usize,
    pub functions: usize,
}

/// What a function is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Instrumented.
    Instrumented,
    /// Seen by the pass, and left alone.
    Left,
    /// Only in the symbol table.
    Native,
    /// Made by the compiler after the pass, from functions that the pass saw.
    CompilerMade,
    /// A copy for inlining; the function itself is elsewhere.
    InlineCopy,
    /// Called, and defined elsewhere (a shared library).
    External,
}

impl Kind {
    /// Whether the summary counts it.
    pub fn counts(self) -> bool {
        matches!(self, Kind::Instrumented | Kind::Left | Kind::Native)
    }
}

/// One function.
#[derive(Debug, Serialize)]
pub struct Listed {
    pub name: String,
    pub symbol: String,
    pub kind: Kind,
    /// The mechanisms of an instrumented function.
    pub mechanisms: Vec<&'static str>,
    /// Why it is not instrumented.
    pub reason: Option<String>,
    pub place: Option<Place>,
    /// The object a native function came from, if that is known.
    pub origin: Option<String>,
}

/// Where a function is defined.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    pub file: String,
    pub line: u32,
}

/// A compile step that was left to the real compiler.
#[derive(Debug, Serialize)]
pub struct Declined {
    pub source: String,
    pub reason: String,
}

/// Takes the inventory.
pub fn study(path: &Path, binary: &Binary, sources: &Sources) -> Inventory {
    let mut seen: BTreeMap<&str, (&Manifest, &Function)> = BTreeMap::new();
    for (manifest, function) in binary.manifests.iter().flat_map(|m| m.functions.iter().map(move |f| (m, f))) {
        // One unit's declaration is another's definition: what says most wins.
        let best = seen.entry(&function.name).or_insert((manifest, function));
        if kind(function) < kind(best.1) {
            *best = (manifest, function);
        }
    }
    let ours = |name: &str| name.starts_with(SYMBOL_PREFIX);
    let from_runtime = |s: &Symbol| {
        s.local && (s.name.starts_with("_ZN") || s.name.starts_with("_R")) && s.name.contains(RUNTIME_CRATE)
    };
    let (own, symbols): (Vec<&Symbol>, Vec<&Symbol>) =
        binary.symbols.iter().partition(|s| ours(&s.name) || from_runtime(s));

    let native = native(&symbols, &seen);
    let natives: HashSet<&str> = native.iter().map(|s| s.name.as_str()).collect();
    let found_native = |f: &Function| kind(f) == Kind::External && natives.contains(f.name.as_str());
    let mut functions: Vec<Listed> = seen
        .iter()
        .filter(|(name, (_, f))| !ours(name) && !found_native(f))
        .map(|(_, (manifest, function))| listed(manifest, function, sources))
        .collect();
    let origins = origins(&binary.inputs, &native);
    functions.extend(native.iter().map(|symbol| from_symbol(symbol, &seen, &origins, sources)));
    functions.sort_by(|a, b| (a.kind, &a.place, &a.name, &a.symbol).cmp(&(b.kind, &b.place, &b.name, &b.symbol)));
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for f in &functions {
        *counts.entry(f.reason.clone().unwrap_or_else(|| "instrumented".into())).or_default() += 1;
    }

    let scope = match &binary.manifests[..] {
        [] => "nothing",
        all if all.iter().all(|m| m.scope == Scope::Program) => "program",
        _ => "translation units",
    };
    let asked = binary.manifests.iter().fold(0, |all, m| all | m.mechanisms.0);
    let mut producers: Vec<String> = binary.manifests.iter().map(|m| m.producer.clone()).collect();
    producers.sort();
    producers.dedup();
    let declined = binary.declined.iter().map(|line| {
        let (source, reason) = line.split_once(": ").unwrap_or((line, ""));
        Declined { source: source.into(), reason: reason.into() }
    });
    let is_native = |(kind, _): &&(String, String)| kind == "native";
    Inventory {
        binary: path.display().to_string(),
        summary: Summary {
            instrumented: functions.iter().filter(|f| f.kind == Kind::Instrumented).count(),
            functions: functions.iter().filter(|f| f.kind.counts()).count(),
        },
        scope,
        mechanisms: Mechanisms(asked).iter().map(|m| m.name()).collect(),
        producers,
        modules: binary.manifests.iter().map(|m| ModuleId(m.id).to_string()).collect(),
        counts,
        functions,
        native_inputs: binary.inputs.iter().filter(is_native).map(|(_, path)| sources.shown(path).to_owned()).collect(),
        declined: declined.collect(),
        stripped: binary.stripped,
        own_symbols: own.len(),
    }
}

fn kind(function: &Function) -> Kind {
    match function.outcome {
        Outcome::Instrumented(_) => Kind::Instrumented,
        Outcome::Left(Reason::External) => Kind::External,
        Outcome::Left(Reason::InlineCopy) => Kind::InlineCopy,
        Outcome::Left(_) => Kind::Left,
    }
}

fn listed(manifest: &Manifest, function: &Function, sources: &Sources) -> Listed {
    let place = function.place.and_then(|place| Some(Place { file: sources.file(manifest, place)?, line: place.line }));
    let (mechanisms, reason) = match function.outcome {
        Outcome::Instrumented(mechanisms) => (mechanisms.iter().map(|m| m.name()).collect(), None),
        Outcome::Left(reason) => (Vec::new(), Some(reason.text().to_owned())),
    };
    Listed {
        name: names::demangle(&function.name),
        symbol: function.name.clone(),
        kind: kind(function),
        mechanisms,
        reason,
        place,
        origin: None,
    }
}

/// Functions that only the symbol table has: one per address at which no name is known to a manifest.
fn native<'a>(symbols: &[&'a Symbol], seen: &BTreeMap<&str, (&Manifest, &Function)>) -> Vec<&'a Symbol> {
    let defined = |name: &str| seen.get(name).is_some_and(|(_, f)| kind(f) < Kind::InlineCopy);
    let known: HashSet<u64> = symbols.iter().filter(|s| defined(&s.name)).map(|s| s.address).collect();
    let mut taken = HashSet::new();
    let unknown = symbols.iter().filter(|s| !known.contains(&s.address) && !stems(&s.name).any(defined));
    unknown.filter(|s| taken.insert(s.address)).copied().collect()
}

/// What a part or copy of a function (`f.cold`, `f.llvm.123`, `f.specialized.1`) may have been made from.
fn stems(name: &str) -> impl Iterator<Item = &str> {
    name.rmatch_indices('.').map(|(dot, _)| &name[..dot])
}

fn from_symbol(
    symbol: &Symbol,
    seen: &BTreeMap<&str, (&Manifest, &Function)>,
    origins: &HashMap<String, PathBuf>,
    sources: &Sources,
) -> Listed {
    let made = symbol.file.as_deref() == Some(LTO_FILE) && !seen.contains_key(symbol.name.as_str());
    let (kind, reason) = match made {
        true => (Kind::CompilerMade, "made by the compiler after the pass"),
        false => (Kind::Native, "native code (no bitcode)"),
    };
    let object = origins.get(&symbol.name).map(|path| sources.shown(&path.to_string_lossy()).to_owned());
    Listed {
        name: names::demangle(&symbol.name),
        symbol: symbol.name.clone(),
        kind,
        mechanisms: Vec::new(),
        reason: Some(reason.into()),
        place: None,
        origin: object.or_else(|| symbol.file.clone()).filter(|_| !made),
    }
}

/// Which native input defines each of these functions. Inputs that are gone or can't be read give nothing.
fn origins(inputs: &[(String, String)], native: &[&Symbol]) -> HashMap<String, PathBuf> {
    let wanted: HashSet<&str> = native.iter().filter(|s| !s.local).map(|s| s.name.as_str()).collect();
    let mut out = HashMap::new();
    if wanted.is_empty() {
        return out;
    }
    for (_, path) in inputs.iter().filter(|(kind, _)| kind == "native" || kind == "library") {
        for (name, origin) in binary::definitions(Path::new(path)) {
            if wanted.contains(name.as_str()) {
                // The linker takes the first.
                out.entry(name).or_insert(origin);
            }
        }
    }
    out
}
