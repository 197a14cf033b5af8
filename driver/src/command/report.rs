//! `unseen report`.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use super::{Failure, Outcome, failure};
use crate::report::{self, Format, output, text};
use crate::store::{Run, Store, StoreError, layout, runs};
use crate::study::cover::{self, Coverage};
use crate::study::sources::{Choice, Sources};
use crate::study::tests;

/// Which runs of which store.
#[derive(clap::Args)]
pub struct Runs {
    /// The store [default: UNSEEN_DIR, else the nearest .unseen here or above]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Only this run (may be given several times) [default: all runs]
    #[arg(long, value_name = "NAME", conflicts_with = "last")]
    run: Vec<String>,
    /// Only the run that began last
    #[arg(long)]
    last: bool,
}

impl Runs {
    /// The store, and the runs.
    pub fn open(&self) -> Result<(Store, Vec<Run>), Failure> {
        let store = Store::open(&layout::find(self.dir.as_deref())).map_err(explain)?;
        let runs = choose_runs(&store, self)?;
        Ok((store, runs))
    }
}

/// Arguments of `unseen report`.
#[derive(clap::Args)]
#[command(
    after_help = "Tests that ran inside programs come first, with what failed at the top; then coverage. Whether tests failed \
    does not change the exit code here; `unseen tests` tells it by its own."
)]
pub struct Args {
    #[command(flatten)]
    runs: Runs,
    /// The form of the report [default: what the name of FILE ends with, else text]
    #[arg(long, short, value_enum)]
    format: Option<Format>,
    /// Write to a file; it appears whole or not at all
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Also sources of the toolchain, of system headers and of dependencies
    #[arg(long)]
    all: bool,
    /// Only source files that match, also of toolchain and dependencies; a directory means what is in it
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,
    /// No source files that match
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Text: list the functions of each file
    #[arg(long)]
    functions: bool,
    /// Text: show the source of this file that was not or not wholly reached
    #[arg(long, value_name = "FILE")]
    lines: Vec<String>,
    /// Exit with 1 if less than this share of lines is covered
    #[arg(long, value_name = "PERCENT")]
    fail_under: Option<f64>,
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let format = args.format.or_else(|| Format::of(args.output.as_deref()?)).unwrap_or(Format::Text);
    if format != Format::Text && (args.functions || !args.lines.is_empty()) {
        return Err(Failure::usage("--functions and --lines are for the text report; the others have it all"));
    }
    if format == Format::Html && args.output.is_none() && io::stdout().is_terminal() {
        return Err(Failure::usage("a page is nothing for a terminal").next("name a file: -o report.html"));
    }
    if matches!(format, Format::Junit | Format::Sarif) && args.fail_under.is_some() {
        return Err(Failure::usage("--fail-under is about coverage, which these reports are not")
            .next("`unseen tests` exits with 1 if a test failed"));
    }
    let (store, runs) = args.runs.open()?;
    let sources = sources(&args)?;
    let of_coverage = matches!(format, Format::Lcov | Format::Cobertura);
    let findings = if of_coverage { None } else { tests::study(&store, &runs, &sources) };
    warn(findings.iter().flat_map(|f| &f.problems));
    let findings = findings.filter(|f| !f.tests.is_empty());
    let alone = match format {
        Format::Junit => Some(report::tests::Format::Junit),
        Format::Sarif => Some(report::tests::Format::Sarif),
        _ => None,
    };
    if let Some(alone) = alone {
        let findings = findings.ok_or_else(super::tests::nothing)?;
        write(&args, |out| report::tests::write(&findings, alone, out))?;
        return Ok(ExitCode::SUCCESS);
    }
    let coverage = cover::study(&store, &runs, &sources);
    warn(&coverage.problems);
    check(&coverage, &args, findings.is_some())?;
    let colour = args.output.is_none() && io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let options = text::Options { colour, functions: args.functions, lines: args.lines.clone() };
    let findings = findings.as_ref();
    write(&args, |out| match format {
        Format::Text => text::write(&coverage, findings, &options, out),
        Format::Json => report::json::write(&coverage, findings, out),
        Format::Lcov => report::lcov::write(&coverage, out),
        Format::Cobertura => report::cobertura::write(&coverage, out),
        Format::Html => report::html::write(&coverage, findings, out),
        Format::Junit | Format::Sarif => unreachable!("written above"),
    })?;
    let percent = coverage.totals.lines.percent().unwrap_or(100.0);
    match args.fail_under {
        Some(wanted) if percent < wanted => {
            eprintln!("unseen: {} % of lines covered, less than {wanted} %", text::tenths(percent));
            Ok(ExitCode::from(failure::FINDINGS))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn warn<'a>(problems: impl IntoIterator<Item = &'a String>) {
    for problem in problems {
        eprintln!("unseen: warning: {problem}");
    }
}

fn write(args: &Args, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    output::write(args.output.as_deref(), content).map_err(|e| match &args.output {
        Some(file) => Failure::environment(format!("cannot write {}: {e}", file.display()))
            .next("nothing was written; choose another file with -o, or make room"),
        None => Failure::environment(format!("cannot write to standard output: {e}")),
    })
}

/// What to do about a store that can't be used.
pub(super) fn explain(error: StoreError) -> Failure {
    let next = match &error {
        StoreError::Missing(_) => "record something with `unseen run -- PROGRAM`, or name the store with --dir",
        StoreError::Newer(..) => "use the version of Unseen that wrote it, or another store with --dir",
        StoreError::Foreign(..) | StoreError::Name(_) => "name the store with --dir",
        StoreError::Unreadable(..) | StoreError::Unwritable(..) => "check who owns it and its permissions",
    };
    Failure::environment(&error).next(next)
}

fn choose_runs(store: &Store, args: &Runs) -> Result<Vec<Run>, Failure> {
    let all = runs::list(store).map_err(explain)?;
    if all.is_empty() {
        return Err(Failure::environment(format!("the store {} has no runs", store.root().display()))
            .next("record one with `unseen run -- PROGRAM`; if a program ran, its disk may have been full"));
    }
    if args.last {
        return Ok(runs::latest(all).into_iter().collect());
    }
    if args.run.is_empty() {
        return Ok(all);
    }
    let mut wanted = args.run.clone();
    wanted.sort();
    wanted.dedup();
    let find = |name: &String| {
        all.iter().find(|r| r.name.to_str() == Some(name)).cloned().ok_or_else(|| {
            let failure = Failure::usage(format!("the store {} has no run {name:?}", store.root().display()));
            let distance = |r: &&Run| strsim::damerau_levenshtein(&r.name.to_string_lossy(), name);
            match all.iter().min_by_key(distance) {
                Some(near) => failure.next(format_args!("the nearest name is {}", near.name.display())),
                None => failure,
            }
        })
    };
    wanted.iter().map(find).collect()
}

fn sources(args: &Args) -> Result<Sources, Failure> {
    let choice = Choice { all: args.all, include: args.include.clone(), exclude: args.exclude.clone() };
    let cwd = std::env::current_dir().unwrap_or_default();
    let cargo_home = std::env::var_os("CARGO_HOME").filter(|v| !v.is_empty()).map(PathBuf::from);
    Sources::new(&choice, &cwd, cargo_home).map_err(Failure::usage)
}

/// A report of nothing helps nobody: say why there is nothing. Where there are tests, there may be no coverage.
fn check(coverage: &Coverage, args: &Args, has_tests: bool) -> Result<(), Failure> {
    if coverage.modules.is_empty() && has_tests && args.lines.is_empty() && args.fail_under.is_none() {
        return Ok(());
    }
    if coverage.modules.is_empty() {
        let (what, next) = if coverage.problems.is_empty() {
            (
                "no instrumented program left a record in these runs",
                "build with unseen-clang, unseen-clang++ or cargo unseen, then `unseen run -- PROGRAM`; if that was done, the \
                 store may have been full or not writable when the program ran: make room, check permissions, and run it again",
            )
        } else {
            (
                "nothing in these runs can be used",
                "the warnings say why: read what a newer Unseen wrote with that one, remove what is damaged, \
                 and record again with `unseen run -- PROGRAM`",
            )
        };
        return Err(Failure::environment(what).next(next));
    }
    if coverage.files.is_empty() {
        let left = coverage.left_out.files;
        return Err(Failure::environment(format!("no source file is left: {} left out", report::many(left, "file")))
            .next("--all shows toolchain and dependencies; see also --include and --exclude"));
    }
    let unknown = args.lines.iter().find(|name| !coverage.files.iter().any(|f| text::is_called(f, name)));
    match unknown {
        Some(name) => {
            Err(Failure::usage(format!("no recorded source file is called {name:?}"))
                .next("`unseen report` lists them"))
        }
        None => Ok(()),
    }
}
