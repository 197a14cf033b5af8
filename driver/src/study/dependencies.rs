//! What functions depend on: the sets of a binary in the words of its source.

pub mod words;

use std::collections::BTreeMap;

use serde::Serialize;
use unseen_abi::deps::{Because, Class, Deps, Function, Item, Link};
use unseen_abi::manifest::{self, Manifest};

use super::names;
use super::sources::Sources;
use words::Words;

/// The sets of the functions that were asked for.
#[derive(Debug, Serialize)]
pub struct Findings {
    pub functions: Vec<Unit>,
    pub summary: Summary,
}

/// One function.
#[derive(Debug, Serialize)]
pub struct Unit {
    pub name: String,
    pub symbol: String,
    pub place: Option<String>,
    /// `exact`, `bounded` or `opaque`.
    pub class: &'static str,
    /// Nothing that a call does which returns is missing from `reads` and `writes`.
    pub complete: bool,
    pub pure: bool,
    pub params: Vec<Parameter>,
    pub reads: Vec<Member>,
    pub writes: Vec<Member>,
    pub reasons: Vec<Why>,
}

/// A parameter, as the source declares it.
#[derive(Debug, Serialize)]
pub struct Parameter {
    pub name: String,
    #[serde(rename = "type")]
    pub ty: Option<String>,
}

/// A member of a set.
#[derive(Debug, Serialize)]
pub struct Member {
    pub item: String,
    /// It names definite bytes.
    pub definite: bool,
    /// What brings it in: first the place in this function, then in the one that is called there, ...
    pub why: Vec<Step>,
}

/// A place on the way to a read.
#[derive(Debug, Serialize)]
pub struct Step {
    pub function: String,
    pub at: Option<String>,
    pub item: String,
}

/// A reason why a set is opaque.
#[derive(Debug, Serialize)]
pub struct Why {
    pub reason: &'static str,
    pub text: String,
    /// Reads or writes may be missing because of it.
    pub hides: bool,
    /// It holds only for calls that do not return.
    pub ends: bool,
    pub why: Vec<Step>,
}

/// How many of all functions of the binary are of which class.
#[derive(Debug, Default, Clone, Serialize)]
pub struct Summary {
    pub functions: usize,
    pub exact: usize,
    pub bounded: usize,
    pub opaque: usize,
    /// Opaque functions of which nothing is hidden.
    pub complete: usize,
    pub pure: usize,
    /// Opaque functions by reason; one function may have several.
    pub reasons: BTreeMap<&'static str, usize>,
    /// Functions that are not opaque, but have reasons for calls that do not return; by reason.
    pub ending: usize,
    pub endings: BTreeMap<&'static str, usize>,
    /// Items per set that is not opaque: the median and the 90th percentile.
    pub median: usize,
    pub ninetieth: usize,
}

/// No function has that name.
#[derive(Debug, PartialEq, Eq)]
pub struct Unknown {
    pub name: String,
    pub nearest: Vec<String>,
}

/// The functions of these names, or all without any: module and number in it.
pub fn find(modules: &[(Manifest, Deps)], wanted: &[String]) -> Result<Vec<(usize, usize)>, Unknown> {
    let mut all = Vec::new();
    let mut found = vec![false; wanted.len()];
    for (module, (manifest, deps)) in modules.iter().enumerate() {
        for (number, function) in deps.functions.iter().enumerate() {
            let known = &manifest.functions[function.function as usize];
            let readable = names::demangle(&known.name);
            let mut chosen = wanted.is_empty();
            for (i, name) in wanted.iter().enumerate() {
                let bare = names::without_arguments(names::without_parameters(&readable));
                let last = bare.rsplit("::").next().unwrap_or_default();
                if [&known.name, &known.source_name, &readable, &bare].contains(&name) || last == name {
                    (chosen, found[i]) = (true, true);
                }
            }
            if chosen {
                all.push((module, number));
            }
        }
    }
    match found.iter().position(|f| !f) {
        Some(i) => Err(unknown(modules, &wanted[i])),
        None => Ok(all),
    }
}

/// Looks at the functions of these names, or at all without any.
pub fn study(modules: &[(Manifest, Deps)], wanted: &[String], sources: &Sources) -> Result<Findings, Unknown> {
    let unit = |(module, number): (usize, usize)| {
        let (manifest, deps) = &modules[module];
        Module { manifest, deps, sources }.unit(&deps.functions[number])
    };
    let mut functions: Vec<Unit> = find(modules, wanted)?.into_iter().map(unit).collect();
    functions.sort_by(|a, b| (&a.name, &a.symbol, &a.place).cmp(&(&b.name, &b.symbol, &b.place)));
    Ok(Findings { functions, summary: summary(modules) })
}

fn unknown(modules: &[(Manifest, Deps)], name: &str) -> Unknown {
    let all = modules.iter().flat_map(|(m, d)| d.functions.iter().map(|f| &m.functions[f.function as usize].name));
    let mut near: Vec<(usize, String)> = all
        .map(|symbol| {
            let readable = names::demangle(symbol);
            let bare = names::without_arguments(names::without_parameters(&readable));
            let last = bare.rsplit("::").next().unwrap_or_default();
            (strsim::levenshtein(name, &bare).min(strsim::levenshtein(name, last)), readable)
        })
        .collect();
    near.sort();
    near.dedup();
    let close = near.into_iter().take_while(|(d, _)| *d <= 1 + name.len() / 3).take(3);
    Unknown { name: name.into(), nearest: close.map(|(_, n)| n).collect() }
}

fn summary(modules: &[(Manifest, Deps)]) -> Summary {
    let mut all = Summary::default();
    let mut sizes = Vec::new();
    for (deps, function) in modules.iter().flat_map(|(_, d)| d.functions.iter().map(move |f| (d, f))) {
        all.functions += 1;
        all.pure += usize::from(function.is_pure());
        match deps.class(function) {
            Class::Exact => all.exact += 1,
            Class::Bounded => all.bounded += 1,
            Class::Opaque => {
                all.opaque += 1;
                all.complete += usize::from(!function.hides());
                for because in function.reasons.iter().filter(|b| !b.ends) {
                    *all.reasons.entry(because.reason.key()).or_default() += 1;
                }
                continue;
            }
        }
        all.ending += usize::from(!function.reasons.is_empty());
        for because in &function.reasons {
            *all.endings.entry(because.reason.key()).or_default() += 1;
        }
        sizes.push(function.reads.len());
    }
    sizes.sort_unstable();
    let at = |share: usize| sizes.get(sizes.len() * share / 100).copied().unwrap_or(0);
    Summary { median: at(50), ninetieth: at(90), ..all }
}

struct Module<'a> {
    manifest: &'a Manifest,
    deps: &'a Deps,
    sources: &'a Sources,
}

impl Module<'_> {
    fn unit(&self, function: &Function) -> Unit {
        let known = &self.manifest.functions[function.function as usize];
        let words = Words { deps: self.deps, function };
        let params = function.params.iter().enumerate().map(|(i, p)| Parameter {
            name: if p.name.is_empty() { format!("arg{i}") } else { p.name.clone() },
            ty: p.ty.map(|t| words.type_name(t)),
        });
        let members = |items: &[Item], side: fn(&Function) -> &[Item]| {
            let mut all: Vec<Member> = items.iter().map(|i| self.member(function, i, side)).collect();
            all.sort_by(|a, b| a.item.cmp(&b.item));
            all.dedup_by(|a, b| a.item == b.item);
            all
        };
        Unit {
            name: names::demangle(&known.name),
            symbol: known.name.clone(),
            place: self.at(known.place),
            class: match self.deps.class(function) {
                Class::Exact => "exact",
                Class::Bounded => "bounded",
                Class::Opaque => "opaque",
            },
            complete: !function.hides(),
            pure: function.is_pure(),
            params: params.collect(),
            reads: members(&function.reads, |f| &f.reads),
            writes: members(&function.writes, |f| &f.writes),
            reasons: function.reasons.iter().map(|b| self.why(function, b)).collect(),
        }
    }

    fn member(&self, function: &Function, item: &Item, side: fn(&Function) -> &[Item]) -> Member {
        let words = Words { deps: self.deps, function };
        let mut why = Vec::new();
        let (mut function, mut current) = (function, item);
        loop {
            let name = names::demangle(&self.manifest.functions[function.function as usize].name);
            let item = Words { deps: self.deps, function }.what(&current.what);
            why.push(Step { function: name, at: self.at(current.at), item });
            match current.via {
                // Functions that call each other may lead in a circle.
                Some(Link { function: f, item }) if why.len() < 32 => {
                    function = &self.deps.functions[f as usize];
                    current = &side(function)[item as usize];
                }
                _ => break,
            }
        }
        Member { item: words.what(&item.what), definite: self.deps.is_definite(item), why }
    }

    fn why(&self, function: &Function, because: &Because) -> Why {
        let mut why = Vec::new();
        let (mut function, mut current) = (function, because);
        loop {
            let name = names::demangle(&self.manifest.functions[function.function as usize].name);
            why.push(Step { function: name, at: self.at(current.at), item: String::new() });
            let next = current.via.map(|f| &self.deps.functions[f as usize]);
            match next.and_then(|f| Some((f, f.reasons.iter().find(|b| b.reason == because.reason)?))) {
                Some((f, b)) if why.len() < 32 => (function, current) = (f, b),
                _ => break,
            }
        }
        let mut text = because.reason.text().to_owned();
        if !because.name.is_empty() {
            text += &format!(" ({})", names::demangle(&because.name));
        }
        Why { reason: because.reason.key(), text, hides: because.reason.hides(), ends: because.ends, why }
    }

    fn at(&self, place: Option<manifest::Place>) -> Option<String> {
        self.sources.at(self.manifest, place)
    }
}
