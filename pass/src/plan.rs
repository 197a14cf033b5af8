//! What will be done to which function, and why not: plain data between analysis and instrumentation.

use std::fmt;
use unseen_abi::manifest::{Branch, Label, Outcome, Place, Probes, Region};

/// The plan for a module.
#[derive(Debug, Default)]
pub struct Plan {
    /// Source files; places refer to them by index.
    pub files: Vec<String>,
    /// The program's functions; our own are left out.
    pub functions: Vec<FunctionPlan>,
}

/// The plan for a function.
#[derive(Debug)]
pub struct FunctionPlan {
    /// Its position among the module's functions.
    pub index: usize,
    /// The linker's name.
    pub name: String,
    /// The name in the source; empty without debug info.
    pub source_name: String,
    /// Where it is defined.
    pub place: Option<Place>,
    /// What is done.
    pub outcome: Outcome,
    /// Its coverage, if `cover` is among the mechanisms.
    pub cover: Option<CoverPlan>,
}

/// Where a function gets probes, and what they tell. The probes of `sites` are numbered one after another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CoverPlan {
    /// The number of the first probe.
    pub first: u32,
    /// Where the probes go.
    pub sites: Vec<Site>,
    /// Tells that the function was entered.
    pub entry: Probes,
    /// Tell of statements.
    pub regions: Vec<Region>,
    /// Tell of decisions.
    pub branches: Vec<Branch>,
}

/// Where a probe goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Site {
    /// At the start of a block.
    Block(usize),
    /// On the edge from a block to its n-th successor (and all others that are the same block).
    Edge(usize, usize),
}

impl Plan {
    /// How many probes the module gets.
    pub fn probe_count(&self) -> u32 {
        self.functions.iter().filter_map(|f| f.cover.as_ref()).map(|c| c.sites.len() as u32).sum()
    }
}

/// For tests: one line per fact.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for function in &self.functions {
            match &function.outcome {
                Outcome::Left(reason) => writeln!(f, "function {}: left: {}", function.name, reason.text())?,
                Outcome::Instrumented(m) => {
                    let names: Vec<_> = m.iter().map(|m| m.name()).collect();
                    writeln!(f, "function {}: {}", function.name, names.join(","))?;
                }
            }
            let Some(cover) = &function.cover else { continue };
            writeln!(f, "  entry {:?}", cover.entry)?;
            for (i, site) in cover.sites.iter().enumerate() {
                let number = cover.first + i as u32;
                match site {
                    Site::Block(b) => writeln!(f, "  probe {number} block {b}")?,
                    Site::Edge(b, s) => writeln!(f, "  probe {number} edge {b} successor {s}")?,
                }
            }
            for region in &cover.regions {
                write!(f, "  statements")?;
                for s in &region.statements {
                    write!(f, " {}:{}", s.line, s.column)?;
                }
                writeln!(f, " by {:?}", region.probes)?;
            }
            for branch in &cover.branches {
                write!(f, "  branch {}:{}", branch.place.line, branch.place.column)?;
                for arm in &branch.arms {
                    match arm.label {
                        Label::True => write!(f, " true")?,
                        Label::False => write!(f, " false")?,
                        Label::Default => write!(f, " default")?,
                        Label::Case(v) => write!(f, " case {v}")?,
                    }
                    write!(f, " {:?}", arm.probes)?;
                }
                writeln!(f)?;
            }
        }
        Ok(())
    }
}
