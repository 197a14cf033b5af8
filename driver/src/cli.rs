//! The command line of `unseen`: what may be typed. No I/O here; each command's work is in `command/`.

use clap::{Parser, Subcommand};
use std::process::ExitCode;

use crate::command;

/// Programs that test themselves.
#[derive(Parser)]
#[command(name = "unseen", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show every tool found, its version and path, and what to do about what is wrong
    Doctor(command::doctor::Args),
    /// List the UNSEEN_* environment options
    Options(command::options::Args),
    /// Copy the tools, the plugin, the runtime and the header to a prefix
    Install(command::install::Args),
    /// Build the demo programs, run them and show their coverage
    Demo(command::demo::Args),
    /// List every function of a binary: instrumented with what, or why not
    Manifest(command::manifest::Args),
    /// Show what functions read that they did not write themselves, and what they may write
    Deps(command::deps::Args),
    /// Run a program built with `access` and hold what its functions read against their dependency sets
    Verify(command::verify::Args),
    /// List the functions of a binary that have tests attached
    Units(command::units::Args),
    /// Run a program and keep what it records
    Run(command::run::Args),
    /// Report what became of tests inside programs, and the coverage, in recorded runs
    Report(command::report::Args),
    /// Show what became of the tests that are attached to functions, in recorded runs
    Tests(command::tests::Args),
    /// Show, carry and merge the states that attached tests have seen
    Seen(command::seen::Args),
}

/// Runs `unseen` with the process's arguments.
pub fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Doctor(args) => command::doctor::run(args),
        Command::Options(args) => command::options::run(args),
        Command::Install(args) => command::install::run(args),
        Command::Demo(args) => command::demo::run(args),
        Command::Manifest(args) => command::manifest::run(args),
        Command::Deps(args) => command::deps::run(args),
        Command::Verify(args) => command::verify::run(args),
        Command::Units(args) => command::units::run(args),
        Command::Tests(args) => command::tests::run(args),
        Command::Seen(args) => command::seen::run(args),
        Command::Run(args) => command::run::run(args),
        Command::Report(args) => command::report::run(args),
    };
    result.unwrap_or_else(|failure| failure.print())
}
