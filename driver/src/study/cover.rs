//! Coverage: which functions, statements, lines and branches of the source the recorded processes reached.
//!
//! In: runs of a store. Out: [`Coverage`], plain data ordered by place. Code that exists several times (templates,
//! generics, inline functions of a header in several modules) is one thing here: it is covered if any instance is.
//! `hits` are processes: how many of them reached the place at least once.

mod index;

use serde::Serialize;

use super::sources::Sources;
use crate::store::{Run, Store, manifests, merge};
use index::Index;

/// Everything a report says.
#[derive(Debug, Default, Serialize)]
pub struct Coverage {
    /// The directory that relative paths are relative to.
    pub root: String,
    /// Names of the runs.
    pub runs: Vec<String>,
    /// How many processes were recorded in them.
    pub processes: u32,
    /// When the first and the last of them began, in seconds since 1970.
    pub first: Option<u64>,
    pub last: Option<u64>,
    /// The binaries they ran.
    pub modules: Vec<Module>,
    pub totals: Totals,
    /// Sorted by path.
    pub files: Vec<File>,
    pub left_out: LeftOut,
    /// What could not be used, each with the file that is to blame.
    pub problems: Vec<String>,
}

/// One executable or shared object (or one translation unit of it, without link-time optimisation).
#[derive(Debug, Serialize)]
pub struct Module {
    pub id: String,
    pub path: String,
    pub processes: u32,
}

/// How much of something was reached.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Share {
    pub covered: u32,
    pub total: u32,
}

impl Share {
    /// In percent; nothing at all has no percentage.
    pub fn percent(self) -> Option<f64> {
        (self.total > 0).then(|| 100.0 * f64::from(self.covered) / f64::from(self.total))
    }

    /// One more, reached or not.
    pub fn count(&mut self, reached: bool) {
        self.total += 1;
        self.covered += u32::from(reached);
    }

    /// And these.
    pub fn add(&mut self, other: Share) {
        self.total += other.total;
        self.covered += other.covered;
    }
}

/// How much of each kind was reached. Branches are counted by their arms.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Totals {
    pub functions: Share,
    pub statements: Share,
    pub lines: Share,
    pub branches: Share,
}

impl Totals {
    /// And these.
    pub fn add(&mut self, other: &Totals) {
        self.functions.add(other.functions);
        self.statements.add(other.statements);
        self.lines.add(other.lines);
        self.branches.add(other.branches);
    }
}

/// What the choice of sources left out, and what has no source.
#[derive(Debug, Default, Serialize)]
pub struct LeftOut {
    /// Files that are not of this study.
    pub files: usize,
    /// Which ones these are.
    pub why: &'static str,
    /// Instrumented functions in those files.
    pub functions: usize,
    /// Instrumented functions that no debug info places in a file.
    pub unplaced: usize,
}

/// One source file.
#[derive(Debug, Serialize)]
pub struct File {
    /// As debug info has it, in one spelling.
    pub path: String,
    /// Relative to the working directory where it lies below.
    pub shown: String,
    pub totals: Totals,
    pub functions: Vec<Function>,
    pub statements: Vec<Statement>,
    pub lines: Vec<Line>,
    pub branches: Vec<Branch>,
}

/// A function, with all its instances.
#[derive(Debug, Serialize)]
pub struct Function {
    pub name: String,
    pub line: u32,
    pub column: u32,
    pub hits: u32,
    pub runs: u32,
    pub statements: Share,
    /// The functions of the binary it became: one, or each instance of a template or generic function.
    pub instances: Vec<Instance>,
}

/// One function of a binary.
#[derive(Debug, Serialize)]
pub struct Instance {
    pub symbol: String,
    pub name: String,
    pub hits: u32,
}

/// A source location that carries code.
#[derive(Debug, Serialize)]
pub struct Statement {
    pub line: u32,
    pub column: u32,
    pub hits: u32,
    pub runs: u32,
}

/// A line with at least one statement.
#[derive(Debug, Serialize)]
pub struct Line {
    pub number: u32,
    pub hits: u32,
    pub statements: Share,
}

/// A decision.
#[derive(Debug, Serialize)]
pub struct Branch {
    pub line: u32,
    pub column: u32,
    pub arms: Vec<Arm>,
}

/// One way out of a decision.
#[derive(Debug, Serialize)]
pub struct Arm {
    /// `true`, `false`, `case N` or `default`.
    pub label: String,
    pub hits: u32,
    /// Whether any instance can take it at all. Arms that can't be taken are not counted.
    pub reachable: bool,
}

/// Studies these runs.
pub fn study(store: &Store, runs: &[Run], sources: &Sources) -> Coverage {
    let mut index = Index::new(sources);
    let mut finder = manifests::Finder::new(store);
    let merged = merge::merge(runs, |file| {
        let manifest = finder.find(file.id, &file.binary)?;
        Ok(index.add(&manifest))
    });
    let (files, left_out) = index.finish(&merged);
    let mut totals = Totals::default();
    files.iter().for_each(|f| totals.add(&f.totals));
    let modules = merged.modules.iter().map(|m| Module {
        id: m.id.to_string(),
        path: m.binary.to_string_lossy().into_owned(),
        processes: m.processes,
    });
    Coverage {
        root: sources.root().to_string_lossy().into_owned(),
        runs: runs.iter().map(|r| r.name.to_string_lossy().into_owned()).collect(),
        processes: merged.processes,
        first: merged.first.map(|ns| ns / 1_000_000_000),
        last: merged.last.map(|ns| ns / 1_000_000_000),
        modules: modules.collect(),
        totals,
        files,
        left_out,
        problems: merged.problems.iter().map(ToString::to_string).collect(),
    }
}

#[cfg(test)]
mod tests;
