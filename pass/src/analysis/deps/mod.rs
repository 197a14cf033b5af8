//! Dependency sets: what each function reads that it did not write itself, what it may write, and why that can't always be
//! told.
//!
//! [`extract`] makes plain data ([`body`]) of the module, with calls through pointers resolved by [`targets`] and [`flow`], which
//! follows addresses of functions by what [`accesses`] and [`tags`] say of the source's types, in a graph of [`arrivals`]. From there on nothing knows LLVM. [`solve`], with [`calls`] and [`certain`], finds what the values of one function may point to and
//! what it certainly writes, in terms of [`paths`], [`memory`] and [`must`]; [`collect`] and [`effects`] make a [`summary`] of
//! that, with regard to [`endings`]; [`external`] makes those of functions without code; [`whole`] does so for all, callees first. [`encode`] gives
//! what travels in the binary, [`names`] adds the source's names to it, [`render`] gives what tests read.

mod accesses;
mod arrivals;
pub mod body;
mod calls;
mod certain;
mod collect;
mod components;
mod effects;
pub mod encode;
mod endings;
mod exceptions;
mod external;
pub mod extract;
mod flow;
mod intrinsics;
mod locals;
mod memory;
mod must;
pub mod names;
mod order;
pub mod paths;
mod render;
mod slices;
mod slots;
mod solve;
pub mod summary;
mod tags;
mod targets;
pub mod whole;

#[cfg(test)]
mod tests;

use super::sources::Sources;
use crate::llvm::{Function, Module};
use crate::options::Options;

/// The sets of a module.
pub struct Analysed {
    pub program: body::Program,
    pub paths: paths::Paths,
    /// By function, as in the program.
    pub summaries: Vec<summary::Summary>,
}

/// Analyses a module.
pub fn analyse(module: Module, functions: &[Function], options: &Options, sources: &mut Sources) -> Analysed {
    let mut program = extract::extract(module, functions, options, sources);
    endings::cut(&mut program);
    locals::promote(&mut program);
    let mut paths = paths::Paths::default();
    let summaries = whole::solve(&program, &mut paths, |paths, function| external::summary(paths, &program, function));
    Analysed { program, paths, summaries }
}
