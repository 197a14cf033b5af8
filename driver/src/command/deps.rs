//! `unseen deps`.

use std::path::PathBuf;
use std::process::ExitCode;

use super::{Failure, Outcome};
use crate::report::{self, output};
use crate::store::deps::{self, DepsError};
use crate::study::dependencies::{self, Findings, Unknown};
use crate::study::sources::{Choice, Sources};

/// Arguments of `unseen deps`.
#[derive(clap::Args)]
pub struct Args {
    /// An executable or shared object built with the mechanism `state`
    binary: PathBuf,
    /// Functions, by their name in the source or by symbol; all without any
    functions: Vec<String>,
    /// Which calls and lines bring in an item of a set, or the reason why it is opaque
    #[arg(long, value_name = "ITEM", conflicts_with = "summary")]
    why: Option<String>,
    /// Only how many sets are exact, bounded and opaque
    #[arg(long, conflicts_with = "functions")]
    summary: bool,
    /// The form of the answer
    #[arg(long, short, value_enum, default_value = "text")]
    format: Format,
}

/// In which form the sets are written.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; see docs/deps-json.md
    Json,
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let modules = deps::read(&args.binary).map_err(explain)?;
    let cwd = std::env::current_dir().unwrap_or_default();
    let sources = Sources::new(&Choice::default(), &cwd, None).map_err(Failure::usage)?;
    let mut findings = dependencies::study(&modules, &args.functions, &sources).map_err(unknown)?;
    if args.summary {
        findings.functions.clear();
    }
    if let Some(item) = &args.why {
        keep_why(&mut findings, item)?;
    }
    output::write(None, |out| match (args.format, &args.why) {
        (Format::Json, _) => report::deps::json(&findings, out),
        (Format::Text, Some(item)) => {
            findings.functions.iter().try_for_each(|u| report::deps::why(u, &report::deps::chains(u, item), out))
        }
        (Format::Text, None) if args.summary => report::deps::summary(&findings.summary, out),
        (Format::Text, None) => report::deps::text(&findings, out),
    })
    .map_err(|e| Failure::environment(format!("cannot write to standard output: {e}")))?;
    Ok(ExitCode::SUCCESS)
}

/// Leaves the functions that have the item.
fn keep_why(findings: &mut Findings, item: &str) -> Result<(), Failure> {
    findings.functions.retain(|unit| !report::deps::chains(unit, item).is_empty());
    if findings.functions.is_empty() {
        return Err(Failure::usage(format!("no set has an item or reason like '{item}'"))
            .next("run it without --why to see the items"));
    }
    Ok(())
}

pub fn unknown(Unknown { name, nearest }: Unknown) -> Failure {
    let failure = Failure::usage(format!("no function is called '{name}'"));
    match nearest[..] {
        [] => failure.next("run it without names to see all functions"),
        _ => failure.next(format!("did you mean {}?", nearest.join(", "))),
    }
}

pub fn explain(error: DepsError) -> Failure {
    let next = match error {
        DepsError::Manifest(error) => return super::manifest::explain(error),
        DepsError::None(_) => "build it with --unseen=state,cover or UNSEEN_BUILD=state,cover",
    };
    Failure::environment(&error).next(next)
}
