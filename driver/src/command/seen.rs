//! `unseen seen`: the states that attached tests have seen, shown, carried from store to store, and merged.

mod stats;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use unseen_abi::seen::exported::{Fault, States};
use unseen_abi::seen::file::Unreadable;

use super::{Failure, Outcome};
use crate::report::{many, output};
use crate::store::seen::{self, SeenError};
use crate::store::{ModuleId, Store, layout, manifests};

/// Arguments of `unseen seen`.
///
/// States belong to a build: another one, even of the same source, knows nothing of them.
///
/// Exit codes: 0 fine, 2 for what was named wrongly (sets of different builds, an id that nothing has), 3 for files and stores that can't
/// be used.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Show how many states of which tests were seen, and what they take
    Stats(stats::Args),
    /// Write all states of a build to one file
    Export(Export),
    /// Put exported states into a store; programs may be running
    Import(Import),
    /// Write the states of several files of one build to one file, each state once
    Merge(Merge),
}

#[derive(clap::Args)]
struct Export {
    /// The store [default: UNSEEN_DIR, else the nearest .unseen here or above]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The program whose states are exported
    #[arg(required_unless_present = "id", conflicts_with = "id")]
    program: Option<PathBuf>,
    /// The build whose states are exported: its id, or how that begins
    #[arg(long, value_name = "HEX")]
    id: Option<String>,
    /// The file; it appears whole or not at all
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

#[derive(clap::Args)]
struct Import {
    /// The store; made if it is missing [default: UNSEEN_DIR, else .unseen]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Refuse states that are not of this program's build
    #[arg(long = "for", value_name = "PROGRAM")]
    program: Option<PathBuf>,
    /// What `unseen seen export` or `merge` wrote, or a set of another store (a file in its directory `seen`)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

#[derive(clap::Args)]
struct Merge {
    /// The file; it appears whole or not at all
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// What `unseen seen export` or `merge` wrote, or a set of a store (a file in its directory `seen`)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    match args.action {
        Action::Stats(args) => stats::run(args),
        Action::Export(args) => export(&args),
        Action::Import(args) => import(&args),
        Action::Merge(args) => merge(&args),
    }
}

fn export(args: &Export) -> Outcome {
    let store = Store::open(&layout::find(args.dir.as_deref())).map_err(super::report::explain)?;
    let id = match (&args.program, &args.id) {
        (Some(program), _) => build_of_program(&store, program)?,
        (None, id) => build_by_id(&store, id.as_deref().unwrap_or_default())?,
    };
    let (set, problems) = seen::of_build(&store, id);
    // A part of a set that looks like all of it helps nobody.
    if let Some(problem) = problems.into_iter().next() {
        return Err(explain(problem));
    }
    write(&args.output, &set.states)
}

fn merge(args: &Merge) -> Outcome {
    let mut all: Option<States> = None;
    for file in &args.files {
        let states = seen::read_file(file).map_err(explain)?.states;
        all = Some(match all {
            None => states,
            Some(all) if all.id != states.id => return Err(other_build(file, states.id, all.id)),
            Some(all) => all.union(states),
        });
    }
    let all = all.ok_or_else(|| Failure::usage("there is nothing to merge"))?;
    write(&args.output, &all)
}

fn import(args: &Import) -> Outcome {
    let wanted = args.program.as_deref().map(ids_of).transpose()?;
    // All are read before the first is written.
    let mut sets: BTreeMap<ModuleId, States> = BTreeMap::new();
    for file in &args.files {
        let states = seen::read_file(file).map_err(explain)?.states;
        let id = ModuleId(states.id);
        if let Some(wanted) = wanted.as_ref().filter(|w| !w.contains(&id)) {
            return Err(other_build(file, states.id, wanted[0].0));
        }
        let all = match sets.remove(&id) {
            Some(all) => all.union(states),
            None => states,
        };
        sets.insert(id, all);
    }
    let store = Store::create(&layout::choose(args.dir.as_deref())).map_err(super::report::explain)?;
    for (id, states) in sets {
        let count = many(states.count(), "state");
        let imported = seen::import(&store, states).map_err(explain)?;
        let when =
            if imported.is_waiting { "; the next program of this build that starts takes them over" } else { "" };
        say(format_args!("build {id}: {count}, {} of them new{when}", imported.new))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes an exported set.
fn write(file: &Path, states: &States) -> Outcome {
    let (bytes, _) = states.encode();
    output::write(Some(file), |out| out.write_all(&bytes)).map_err(|e| {
        Failure::environment(format!("cannot write {}: {e}", file.display()))
            .next("nothing was written; choose another file with -o, or make room")
    })?;
    if file != Path::new("-") {
        say(format_args!("build {}: {}", ModuleId(states.id), many(states.count(), "state")))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn say(what: std::fmt::Arguments<'_>) -> Result<(), Failure> {
    output::write(None, |out| writeln!(out, "{what}"))
        .map_err(|e| Failure::environment(format!("cannot write to standard output: {e}")))
}

/// The builds in a program.
fn ids_of(program: &Path) -> Result<Vec<ModuleId>, Failure> {
    let manifests = manifests::extract(program).map_err(super::manifest::explain)?;
    Ok(manifests.iter().map(|m| ModuleId(m.id)).collect())
}

/// The build of a program of which the store has states.
fn build_of_program(store: &Store, program: &Path) -> Result<ModuleId, Failure> {
    let (ids, all) = (ids_of(program)?, seen::builds(store).map_err(explain)?);
    let found: Vec<ModuleId> = all.iter().copied().filter(|id| ids.contains(id)).collect();
    match found[..] {
        [id] => Ok(id),
        [] => {
            let (program, root) = (program.display(), store.root().display());
            let failure =
                Failure::environment(format!("the store {root} has no states of {program}, build {}", ids[0]));
            Err(match &all[..] {
                [] => failure.next("attach tests with UNSEEN_TEST, then `unseen run -- PROGRAM`"),
                _ => failure.next(format!("it has those of {}; was the program built again since?", list(&all))),
            })
        }
        _ => Err(Failure::usage(format!("{} has several builds with states: {}", program.display(), list(&found)))
            .next("choose one with --id")),
    }
}

/// The build of the store whose id begins like that.
fn build_by_id(store: &Store, id: &str) -> Result<ModuleId, Failure> {
    let all = seen::builds(store).map_err(explain)?;
    let begins = |b: &&ModuleId| b.to_string().starts_with(&id.to_lowercase());
    let found: Vec<ModuleId> = all.iter().filter(begins).copied().collect();
    let root = store.root().display();
    match (&found[..], &all[..]) {
        ([id], _) => Ok(*id),
        ([], []) => Err(none(store)),
        ([], _) => Err(Failure::usage(format!("the store {root} has no states of a build {id}"))
            .next(format!("it has those of {}", list(&all)))),
        _ => Err(Failure::usage(format!("several builds begin with {id}: {}", list(&found)))),
    }
}

fn list(ids: &[ModuleId]) -> String {
    ids.iter().map(ModuleId::to_string).collect::<Vec<_>>().join(", ")
}

/// There is nothing at all.
fn none(store: &Store) -> Failure {
    Failure::environment(format!("the store {} has no seen sets", store.root().display()))
        .next("attach tests with UNSEEN_TEST (unseen.h), build, then `unseen run -- PROGRAM`")
}

fn other_build(file: &Path, found: [u8; 16], wanted: [u8; 16]) -> Failure {
    let (found, wanted) = (ModuleId(found), ModuleId(wanted));
    Failure::usage(SeenError::OtherBuild { file: file.into(), found, wanted })
        .next("the states of a build mean nothing to another; carry those of each build by themselves")
}

/// What to do about a set that can't be used.
fn explain(error: SeenError) -> Failure {
    let next = match &error {
        SeenError::Unreadable(..) => "check the path and its permissions",
        SeenError::Foreign(_) => "name what `unseen seen export` wrote, or a file in the directory `seen` of a store",
        SeenError::Exported(_, Fault::Version(_) | Fault::SetVersion(_))
        | SeenError::Table(_, Unreadable::Version(_)) => "use the version of Unseen that wrote it",
        SeenError::Exported(..) | SeenError::Table(..) | SeenError::Cut { .. } | SeenError::OtherBuild { .. } => {
            "if it is a copy, copy it again; if it lies in a store, remove it: programs don't use it either"
        }
        SeenError::Unwritable(..) => "what was there is as it was; check permissions and room, then import again",
    };
    Failure::environment(&error).next(next)
}
