//! `unseen verify`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::mpsc;
use std::time::Duration;

use unseen_abi::access::FILE;
use unseen_abi::mechanism::Mechanism;
use unseen_abi::options;

use super::{Destination, Failure, Outcome};
use crate::config;
use crate::environment;
use crate::report::{self, output};
use crate::run::{NewRun, program, record};
use crate::store::deps::DepsError;
use crate::store::manifests::ExtractError;
use crate::store::{ModuleId, access, deps, events, tallies};
use crate::study::dependencies;
use crate::study::sources::{Choice, Sources};
use crate::study::verify::{self, Findings, Module};

/// Arguments of `unseen verify`.
///
/// A call that is checked is checked byte by byte, with all that it calls; not every call is, see --calls and --effort. Functions of
/// which no call was checked yet go first. Sets that may be incomplete by their own account are not checked, sets too large to walk
/// are counted as such: the report says how many functions each of these were.
///
/// Exit codes: 0 if no read was outside a set, 1 if one was, 2 and 3 if nothing could be checked.
#[derive(clap::Args)]
pub struct Args {
    /// Only these functions, by their name in the source or by symbol; may be repeated
    #[arg(long = "unit", value_name = "FUNCTION")]
    units: Vec<String>,
    /// So many first calls of each function are checked, then about as many for each doubling of their number [default: 100]
    #[arg(long, value_name = "N")]
    calls: Option<u64>,
    /// Beyond the first fifth of a second (two for functions never checked), so many per cent of the program's own CPU time are
    /// spent on checking; 100 is no limit [default: 25]
    #[arg(long, value_name = "PERCENT")]
    effort: Option<u64>,
    /// After so many seconds no more calls are checked; the program goes on
    #[arg(long, value_name = "SECONDS")]
    budget: Option<u64>,
    /// After so many seconds the program is killed; what was found until then is reported
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    #[command(flatten)]
    destination: Destination,
    /// A line for each function that was called
    #[arg(long, short)]
    verbose: bool,
    /// The form of the answer
    #[arg(long, short, value_enum, default_value = "text")]
    format: Format,
    /// Where it is written [default: standard error for text, standard output for json]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// In which form the findings are written.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; see docs/verify-json.md
    Json,
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    environment::check(&config::environment())?;
    args.destination.check()?;
    let mut command = Command::new(&args.command[0]);
    command.args(&args.command[1..]);
    if !args.units.is_empty() {
        command.env(options::ACCESS_UNITS.name, chosen(&args)?);
    }
    if let Some(calls) = args.calls {
        command.env(options::ACCESS_CALLS.name, calls.to_string());
    }
    if let Some(effort) = args.effort {
        command.env(options::ACCESS_EFFORT.name, effort.to_string());
    }
    if let Some(seconds) = args.budget {
        command.env(options::ACCESS_SECONDS.name, seconds.max(1).to_string());
    }
    let new = args.destination.new_run().map_err(Failure::environment)?;
    command.envs(new.environment());
    command.env(options::UNSEEN.name, "on").env(options::COVER.name, "on");
    let unwritable = |e| Failure::environment(format!("cannot write {}: {e}", new.run.directory.display()));
    new.started(&args.command).map_err(unwritable)?;
    let ending = launch(&mut command, args.timeout)
        .map_err(|e| Failure::environment(format!("cannot run {}: {e}", args.command[0].display())))?;
    new.ended(&ending).map_err(unwritable)?;
    let findings = collect(&new, &args.command[0], ending)?;
    write(&args, &findings)?;
    Ok(ExitCode::from(u8::from(!findings.misses.is_empty())))
}

/// The units that were asked for, as the runtime reads them.
fn chosen(args: &Args) -> Result<String, Failure> {
    let program = &args.command[0];
    let missing = || Failure::environment(format!("cannot find {}", program.display()));
    let binary = record::locate(program).ok_or_else(missing)?;
    let modules = deps::read(&binary).map_err(super::deps::explain)?;
    let found = dependencies::find(&modules, &args.units).map_err(super::deps::unknown)?;
    let entry = |(module, unit): &(usize, usize)| format!("{:.8}:{unit}", ModuleId(modules[*module].1.id).to_string());
    Ok(found.iter().map(entry).collect::<Vec<_>>().join(","))
}

/// Runs the program; kills it when the time is over.
fn launch(command: &mut Command, timeout: Option<u64>) -> std::io::Result<String> {
    let (done, over) = mpsc::channel::<()>();
    let watcher = timeout.map(|seconds| {
        std::thread::spawn(move || {
            let late = over.recv_timeout(Duration::from_secs(seconds)) == Err(mpsc::RecvTimeoutError::Timeout);
            if late {
                program::kill();
            }
            late
        })
    });
    let status = program::run(command);
    drop(done);
    let late = watcher.is_some_and(|w| w.join().unwrap_or(false));
    let ending = program::ending(status?);
    Ok(if late { format!("{ending}, killed after {} s", timeout.unwrap_or(0)) } else { ending })
}

/// Puts together what the program left.
fn collect(new: &NewRun, program: &std::ffi::OsStr, ending: String) -> Result<Findings, Failure> {
    let (tallies, problems) = tallies::read(&new.run.directory, &FILE);
    let log = events::read(&new.run.directory);
    for problem in problems.iter().chain(&log.problem) {
        eprintln!("unseen: warning: {problem}");
    }
    if tallies.is_empty() {
        return Err(nothing(program, &ending));
    }
    let mut modules = BTreeMap::new();
    for file in &tallies {
        if !modules.contains_key(&file.id) {
            load(&file.binary, &mut modules)?;
        }
        if !modules.contains_key(&file.id) {
            eprintln!("unseen: warning: {} was replaced while it ran; its units can't be named", file.binary.display());
        }
    }
    let cwd = std::env::current_dir().unwrap_or_default();
    let sources = Sources::new(&Choice::default(), &cwd, None).map_err(Failure::usage)?;
    Ok(verify::study(&modules, &tallies, &access::misses(&log.events), ending, &sources))
}

/// Adds the modules of a binary.
fn load(binary: &Path, modules: &mut BTreeMap<ModuleId, Module>) -> Result<(), Failure> {
    // It was watched, so its sets were there once.
    let removed = |error| match error {
        DepsError::None(_) | DepsError::Manifest(ExtractError::None(_)) => Failure::environment(format!(
            "{} was watched, but its dependency sets are no longer in it",
            binary.display()
        ))
        .next("verify it before it is stripped"),
        other => super::deps::explain(other),
    };
    let sets = deps::read(binary).map_err(removed)?;
    let sites = access::sites(binary).map_err(super::manifest::explain)?;
    for (manifest, deps) in sets {
        if let Some(sites) = sites.iter().find(|s| s.id == manifest.id) {
            modules.insert(ModuleId(manifest.id), Module { manifest, deps, sites: sites.clone() });
        }
    }
    Ok(())
}

/// Why there is nothing to look at.
fn nothing(program: &std::ffi::OsStr, ending: &str) -> Failure {
    let build = "build it with --unseen=access or UNSEEN_BUILD=access";
    let without = record::locate(program)
        .and_then(|binary| crate::store::manifests::extract(&binary).ok())
        .is_none_or(|all| all.iter().all(|m| !m.mechanisms.has(Mechanism::Access)));
    let what = format!("{} was not watched; it ended with {ending}", program.display());
    if without {
        Failure::environment(format!("{what}; it was built without the mechanism `access`")).next(build)
    } else {
        Failure::environment(what)
            .next("it may have been unable to write to the store, or ended before its constructors ran")
    }
}

fn write(args: &Args, findings: &Findings) -> Result<(), Failure> {
    let failed = |e| Failure::environment(format!("cannot write the findings: {e}"));
    if args.format == Format::Text && args.output.is_none() {
        // Standard output is the program's.
        return report::verify::text(findings, args.verbose, &mut std::io::stderr().lock()).map_err(failed);
    }
    output::write(args.output.as_deref(), |out| match args.format {
        Format::Json => report::verify::json(findings, out),
        Format::Text => report::verify::text(findings, args.verbose, out),
    })
    .map_err(failed)
}
