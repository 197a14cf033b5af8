//! Compilers that behave like the ones they wrap: arguments in, bitcode and instrumented binaries out.
//!
//! `args` and `response` read command lines, `step` says what they ask for, `clang`, `link` and `rustc` plan, `launch`
//! carries plans out; `inputs` and `bitcode` read what goes into a link.

pub mod account;
pub mod args;
pub mod binutils;
pub mod bitcode;
pub mod cargo;
pub mod clang;
#[cfg(test)]
mod golden;
pub mod inputs;
pub mod launch;
pub mod link;
pub mod response;
pub mod runner;
pub mod rust_args;
pub mod rustc;
pub mod step;

/// Internal, to the pass and between our tools: the user's optimisation level, one of `0 1 2 3 s z`.
pub const LEVEL: &str = "UNSEEN_LEVEL";
/// Internal, to the pass: `unit` if it sees one translation unit.
pub const SCOPE: &str = "UNSEEN_SCOPE";
/// Internal, to the pass: who may know the program's functions by name without being seen. `native` code is in the program; `exports` are
/// for what the program loads.
pub const EXPOSED: &str = "UNSEEN_EXPOSED";

/// What becomes of a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Its code goes through the pass.
    Handled(Scope),
    /// The real compiler does it alone, for this reason.
    Declined(String),
    /// It makes no code.
    NotACompile(&'static str),
}

/// How much the pass sees at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// The whole program, when it is linked.
    Program,
    /// One translation unit, now.
    Unit,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Outcome::Handled(Scope::Program) => write!(f, "handled"),
            Outcome::Handled(Scope::Unit) => write!(f, "handled, per translation unit"),
            Outcome::Declined(why) => write!(f, "declined: {why}"),
            Outcome::NotACompile(why) => write!(f, "not a compile: {why}"),
        }
    }
}
