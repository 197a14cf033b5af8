//! One binary, several roles ([`role`]), chosen by the name it is called by:
//!
//! * `unseen-clang`, `unseen-clang++`: a C or C++ compiler ([`wrap::clang`]), also rustc's linker;
//! * `unseen-rustc`: a Rust compiler ([`wrap::rustc`]), also cargo's `RUSTC_WRAPPER`;
//! * `cargo-unseen`: `cargo unseen build|run|test|bench ...` ([`wrap::cargo`]);
//! * `unseen-ar`, `unseen-ranlib`, `unseen-nm`, `unseen-strip`: tools that know bitcode ([`wrap::binutils`]);
//! * `unseen`: the command line ([`cli`], one file per command in [`command`]).
//!
//! Nothing here links LLVM: the pass plugin and the runtime are files that are named to the linker.

mod calendar;
mod cli;
mod command;
mod config;
mod context;
mod environment;
mod report;
mod role;
mod run;
mod store;
mod study;
mod wrap;

use std::process::ExitCode;

fn main() -> ExitCode {
    let name = std::env::args_os().next().unwrap_or_default();
    let role = std::path::Path::new(&name).file_name().and_then(|n| n.to_str()).unwrap_or("unseen");
    match role::ROLES.iter().find(|(name, _)| *name == role) {
        Some((name, play)) => play(name),
        None => cli::main(),
    }
}
