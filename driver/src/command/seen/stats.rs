//! `unseen seen stats`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use unseen_abi::manifest::Manifest;
use unseen_abi::state::{Attachments, FILE};

use super::{explain, none};
use crate::command::{Failure, Outcome};
use crate::report::{self, output};
use crate::store::manifests::ExtractError;
use crate::store::seen::{self, Set};
use crate::store::{ModuleId, Store, attached, layout, runs, tallies};
use crate::study;

/// Arguments of `unseen seen stats`.
#[derive(clap::Args)]
pub struct Args {
    /// The store [default: UNSEEN_DIR, else the nearest .unseen here or above]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The form of the answer
    #[arg(long, short, value_enum, default_value = "text")]
    format: Format,
    /// Write to a file; it appears whole or not at all
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Programs: only their sets are shown. Exported sets, or files of a store's sets: they are shown, and not those of the store
    #[arg(value_name = "PROGRAM|FILE")]
    names: Vec<PathBuf>,
}

/// In which form the findings are written.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; see docs/seen-json.md
    Json,
}

/// Tests by build.
type Modules = BTreeMap<ModuleId, (Manifest, Attachments)>;

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let (files, programs): (Vec<_>, Vec<_>) = args.names.iter().partition(|name| seen::is_set(name));
    let mut modules = Modules::new();
    for program in &programs {
        add(&mut modules, program).map_err(|e| match e {
            ExtractError::NotElf(path) => {
                Failure::environment(format!("{} is neither a program nor a seen set", path.display()))
                    .next("name a program built with Unseen, or what `unseen seen export` wrote")
            }
            e => crate::command::manifest::explain(e),
        })?;
    }
    let sets: Vec<(String, Set)> = if files.is_empty() {
        in_store(&args, &mut modules, !programs.is_empty())?
    } else {
        let read = |file: &&PathBuf| Ok((file.display().to_string(), seen::read_file(file).map_err(explain)?));
        files.iter().map(read).collect::<Result<_, Failure>>()?
    };
    let findings = study::seen::study(&modules, &sets);
    output::write(args.output.as_deref(), |out| match args.format {
        Format::Text => report::seen::text(&findings, out),
        Format::Json => report::seen::json(&findings, out),
    })
    .map_err(|e| Failure::environment(format!("cannot write the findings: {e}")))?;
    Ok(ExitCode::SUCCESS)
}

/// The sets of the store, if asked for only those of known modules; and tests of programs that ran there.
fn in_store(args: &Args, modules: &mut Modules, only_known: bool) -> Result<Vec<(String, Set)>, Failure> {
    let store = Store::open(&layout::find(args.dir.as_deref())).map_err(crate::command::report::explain)?;
    let mut builds = seen::builds(&store).map_err(explain)?;
    if builds.is_empty() {
        return Err(none(&store));
    }
    if only_known {
        builds.retain(|id| modules.contains_key(id));
        if builds.is_empty() {
            let root = store.root().display();
            return Err(Failure::environment(format!("the store {root} has no states of these programs"))
                .next("they may have been built again since; without a name all sets are shown"));
        }
    }
    for run in runs::list(&store).unwrap_or_default() {
        for file in tallies::read(&run.directory, &FILE).0 {
            if builds.contains(&file.id) && !modules.contains_key(&file.id) {
                // One that is gone, or was built again, names nothing.
                let _ = add(modules, &file.binary);
            }
        }
    }
    let mut sets = Vec::new();
    for id in builds {
        let (set, problems) = seen::of_build(&store, id);
        for problem in problems {
            eprintln!("unseen: warning: {problem}");
        }
        sets.push((store.root().display().to_string(), set));
    }
    Ok(sets)
}

fn add(modules: &mut Modules, program: &Path) -> Result<(), ExtractError> {
    let all = attached::read(program)?.into_iter();
    modules.extend(all.map(|(manifest, attached)| (ModuleId(manifest.id), (manifest, attached))));
    Ok(())
}
