//! `unseen tests`.

use std::path::PathBuf;
use std::process::ExitCode;

use super::{Failure, Outcome, failure};
use crate::report::output;
use crate::report::tests::{Format, write};
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

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let (store, runs) = args.runs.open()?;
    let cwd = std::env::current_dir().unwrap_or_default();
    let sources = Sources::new(&Choice::default(), &cwd, None).map_err(Failure::usage)?;
    let findings = tests::study(&store, &runs, &sources);
    for problem in findings.iter().flat_map(|f| &f.problems) {
        eprintln!("unseen: warning: {problem}");
    }
    let findings = findings.filter(|f| !f.tests.is_empty()).ok_or_else(nothing)?;
    output::write(args.output.as_deref(), |out| write(&findings, args.format, out))
        .map_err(|e| Failure::environment(format!("cannot write the findings: {e}")))?;
    Ok(if findings.summary.bad() > 0 { ExitCode::from(failure::FINDINGS) } else { ExitCode::SUCCESS })
}

/// There are no tests to tell of.
pub fn nothing() -> Failure {
    Failure::environment("no program with attached tests left a record in these runs")
        .next("attach tests with UNSEEN_TEST (unseen.h), build, then `unseen run -- PROGRAM`")
}
