//! `unseen tests`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use unseen_abi::state::FILE;

use super::{Failure, Outcome, failure};
use crate::report::{self, output};
use crate::store::{ModuleId, attached, events, tallies};
use crate::study::sources::{Choice, Sources};
use crate::study::tests;

/// Arguments of `unseen tests`.
///
/// Exit codes: 0 if no test failed, 1 if one did (crashes and tests that took too long are failures; what could not be run to its end
/// is none), 2 and 3 if there is nothing to show.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    runs: super::report::Runs,
    /// The form of the answer
    #[arg(long, short, value_enum, default_value = "text")]
    format: Format,
    /// Write to a file; it appears whole or not at all
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// In which form the findings are written.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; see docs/tests-json.md
    Json,
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let (_, runs) = args.runs.open()?;
    let (mut counts, mut told) = (Vec::new(), Vec::new());
    for run in &runs {
        let (found, problems) = tallies::read(&run.directory, &FILE);
        let log = events::read(&run.directory);
        for problem in problems.iter().chain(&log.problem) {
            eprintln!("unseen: warning: {problem}");
        }
        counts.extend(found);
        told.extend(attached::told(&log.events));
    }
    if counts.is_empty() {
        return Err(Failure::environment("no program with attached tests left a record in these runs")
            .next("attach tests with UNSEEN_TEST, build with --unseen=state,cover, then `unseen run -- PROGRAM`"));
    }
    let mut modules = BTreeMap::new();
    for file in &counts {
        if modules.contains_key(&file.id) {
            continue;
        }
        for (manifest, attached) in attached::read(&file.binary).unwrap_or_default() {
            modules.insert(ModuleId(manifest.id), (manifest, attached));
        }
        if !modules.contains_key(&file.id) {
            eprintln!("unseen: warning: {} is no longer what ran; its tests can't be named", file.binary.display());
        }
    }
    let cwd = std::env::current_dir().unwrap_or_default();
    let sources = Sources::new(&Choice::default(), &cwd, None).map_err(Failure::usage)?;
    let findings = tests::study(&modules, &counts, &told, &sources);
    output::write(args.output.as_deref(), |out| match args.format {
        Format::Text => report::tests::text(&findings, out),
        Format::Json => report::tests::json(&findings, out),
    })
    .map_err(|e| Failure::environment(format!("cannot write the findings: {e}")))?;
    let failed = findings.summary.failed + findings.summary.crashed + findings.summary.late;
    Ok(if failed > 0 { ExitCode::from(failure::FINDINGS) } else { ExitCode::SUCCESS })
}
