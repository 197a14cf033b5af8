//! `unseen units`.

use std::path::PathBuf;
use std::process::ExitCode;

use super::{Failure, Outcome};
use crate::report::output;
use crate::store::attached;
use crate::study::names;
use unseen_abi::state::{Kind, Test};

/// Arguments of `unseen units`.
#[derive(clap::Args)]
pub struct Args {
    /// An executable or shared object built with the mechanism `state`
    binary: PathBuf,
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let modules = attached::read(&args.binary).map_err(super::manifest::explain)?;
    if modules.iter().all(|(_, a)| a.units.is_empty()) {
        return Err(Failure::environment(format!("{} has no units with tests", args.binary.display())).next(
            "attach tests with UNSEEN_TEST (unseen.h) and build it again, with `state` if you choose what to build in",
        ));
    }
    output::write(None, |out| {
        for (manifest, attached) in &modules {
            let name =
                |f: u32| manifest.functions.get(f as usize).map_or_else(|| "?".into(), |f| names::demangle(&f.name));
            for unit in &attached.units {
                let test = |t: &Test| match t.kind {
                    Kind::Before => name(t.function),
                    Kind::After => format!("{} (after)", name(t.function)),
                    Kind::Determinism => "twice".into(),
                    Kind::Rescue => format!("{} (rescue)", name(t.function)),
                    Kind::Watch => "watched".into(),
                };
                let tests: Vec<String> = unit.tests.iter().map(test).collect();
                writeln!(out, "{}: {}", name(unit.function), tests.join(", "))?;
                if !unit.opaque.is_empty() {
                    writeln!(out, "  tested at each call, the state does not decide: {}", unit.opaque)?;
                }
            }
        }
        Ok(())
    })
    .map_err(|e| Failure::environment(format!("cannot write to standard output: {e}")))?;
    Ok(ExitCode::SUCCESS)
}
