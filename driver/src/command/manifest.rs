//! `unseen manifest`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use unseen_abi::records::{Error, Fault};

use super::{Failure, Outcome};
use crate::report::{self, output};
use crate::store::binary;
use crate::store::manifests::ExtractError;
use crate::study::inventory;
use crate::study::sources::{Choice, Sources};

/// Arguments of `unseen manifest`.
#[derive(clap::Args)]
pub struct Args {
    /// An executable or shared object built with Unseen
    binary: PathBuf,
    /// The form of the list
    #[arg(long, short, value_enum, default_value = "text")]
    format: Format,
    /// Text: also functions whose code is elsewhere, and those the compiler made after the pass
    #[arg(long)]
    all: bool,
    /// Write to a file; it appears whole or not at all
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// In which form the list is written.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// A table and a summary
    Text,
    /// For programs; see docs/manifest-json.md
    Json,
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let binary = binary::read(&args.binary).map_err(explain)?;
    let cwd = std::env::current_dir().unwrap_or_default();
    let sources = Sources::new(&Choice::default(), &cwd, None).map_err(Failure::usage)?;
    let inventory = inventory::study(&args.binary, &binary, &sources);
    output::write(args.output.as_deref(), |out| match args.format {
        Format::Text => report::manifest::text(&inventory, args.all, out),
        Format::Json => report::manifest::json(&inventory, out),
    })
    .map_err(|e| {
        let target = args.output.as_deref().unwrap_or(Path::new("standard output"));
        Failure::environment(format!("cannot write {}: {e}", target.display()))
    })?;
    Ok(ExitCode::SUCCESS)
}

/// What to do about a binary without a manifest.
pub fn explain(error: ExtractError) -> Failure {
    let next = match &error {
        ExtractError::None(_) => "build it with unseen-clang, unseen-clang++ or `cargo unseen build`",
        ExtractError::NotElf(_) => {
            "name the linked program or library, not a script (libtool keeps what it stands for in .libs), archive or object"
        }
        ExtractError::Bad(_, Error { fault: Fault::Newer { .. }, .. }) => "use the version of Unseen that built it",
        ExtractError::Bad(..) => "the section was damaged after the link; build it again",
        ExtractError::Unreadable(..) => "check the path and its permissions",
    };
    Failure::environment(&error).next(next)
}
