//! `unseen run`.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::{Command, ExitCode};

use unseen_abi::options;

use super::{Destination, Outcome};
use crate::config;
use crate::environment;
use crate::run::live::Live;
use crate::run::record::{self, Record, Silence};
use crate::run::{NewRun, program};

/// Arguments of `unseen run`.
///
/// The exit code is the program's; 128 + N if signal N ended it; 127 if it was not found, 126 if it could not be
/// started.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    destination: Destination,
    /// Say what was recorded, also when standard error is no terminal
    #[arg(long, short)]
    verbose: bool,
    /// Show on standard error how calls, states and tests grow in number while the program runs: one line that is rewritten, or one each
    /// two seconds if that is no terminal
    #[arg(long)]
    live: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    environment::check(&config::environment())?;
    args.destination.check()?;
    let new = match args.destination.new_run() {
        Ok(new) => Some(new),
        Err(e) => {
            warn(format_args!("{e}; running the program without recording"));
            None
        }
    };
    let mut command = Command::new(&args.command[0]);
    command.args(&args.command[1..]);
    match &new {
        Some(new) => {
            command.envs(new.environment());
            logged(new, new.started(&args.command));
        }
        None => {
            command.env_remove(options::DIR.name).env_remove(options::RUN.name);
        }
    }
    let live = new.as_ref().filter(|_| args.live).map(|new| Live::begin(&new.run.directory));
    let status = match program::run(&mut command) {
        Ok(status) => status,
        Err(e) => {
            if let Some(live) = live {
                live.end();
            }
            return Ok(not_started(&args, &e, new.as_ref()));
        }
    };
    if let Some(new) = &new {
        logged(new, new.ended(&program::ending(status)));
        let record = record::finish(new);
        if let Some(live) = live {
            live.end();
        }
        tell(&args, new, &record);
    }
    Ok(ExitCode::from(program::exit_code(status)))
}

fn warn(what: impl std::fmt::Display) {
    eprintln!("unseen: warning: {what}");
}

fn logged(new: &NewRun, result: std::io::Result<()>) {
    if let Err(e) = result {
        warn(format_args!("cannot write {}: {e}", new.run.directory.display()));
    }
}

/// The exit codes are those of shells and `env`.
fn not_started(args: &Args, error: &std::io::Error, new: Option<&NewRun>) -> ExitCode {
    eprintln!("unseen: error: cannot run {}: {error}", args.command[0].display());
    let code = if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 };
    match new {
        Some(new) if args.destination.is_named() => logged(new, new.ended(&format!("exit {code}"))),
        Some(new) => new.forget(),
        None => {}
    }
    ExitCode::from(code)
}

/// One line about what was recorded; more only if something is wrong.
fn tell(args: &Args, new: &NewRun, record: &Record) {
    for (what, times) in &record.dropped {
        warn(format_args!("not recorded {times} times: {what}"));
    }
    for warning in &record.warnings {
        warn(warning);
    }
    let chatty = args.verbose || std::io::stderr().is_terminal();
    let name = new.run.name.display();
    if record.processes > 0 {
        if chatty {
            let many = |n: usize, one: &str, more: &str| format!("{n} {}", if n == 1 { one } else { more });
            eprintln!(
                "unseen: run {name}: {} of {} recorded; see them with `unseen report --last`",
                many(record.processes, "process", "processes"),
                many(record.binaries.len(), "instrumented binary", "instrumented binaries"),
            );
        }
        return;
    }
    let program = &args.command[0];
    let build = "build it with unseen-clang, unseen-clang++, unseen-rustc or `cargo unseen build`";
    match record::silence(program) {
        Silence::Off(variable) if chatty => eprintln!("unseen: run {name}: nothing recorded, {variable} is off"),
        Silence::Off(_) => {}
        Silence::NotInstrumented(path) => {
            warn(format_args!(
                "nothing recorded: neither {} nor what it started is instrumented; {build}",
                path.display()
            ));
        }
        Silence::Script(path) => warn(format_args!(
            "nothing recorded: {} is a script, and no program it ran is instrumented; build what it runs with Unseen",
            path.display()
        )),
        Silence::Unknown(path) => warn(format_args!(
            "nothing recorded, though {} is instrumented: it may have been unable to write to {} (another user, \
             a sandbox, a full disk), or ended before its constructors ran",
            path.display(),
            new.run.directory.display()
        )),
        Silence::NotFound => warn(format_args!("nothing recorded by {}", program.display())),
    }
}
