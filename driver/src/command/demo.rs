//! `unseen demo`: the main job end to end, on three small programs.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use super::{Failure, Outcome};
use crate::context::Own;

/// Arguments of `unseen demo`.
#[derive(clap::Args)]
pub struct Args {
    /// Where to work [default: a new directory for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// The programs ride in the tool, so that an installed one can show them too.
const FILES: &[(&str, &str)] = &[
    ("calc.c", include_str!("../../../demo/c/calc.c")),
    ("bank.cpp", include_str!("../../../demo/cpp/bank.cpp")),
    ("words/Cargo.toml", include_str!("../../../demo/rust/Cargo.toml")),
    ("words/build.rs", include_str!("../../../demo/rust/build.rs")),
    ("words/hash.c", include_str!("../../../demo/rust/hash.c")),
    ("words/src/main.rs", include_str!("../../../demo/rust/src/main.rs")),
];

/// What is shown: commands, in order. Each program leaves something that waits for a test.
const STEPS: &[&[&str]] = &[
    &["unseen-clang", "-O2", "calc.c", "-o", "calc"],
    &["unseen-clang++", "-O2", "bank.cpp", "-o", "bank"],
    &["cargo", "unseen", "build", "--quiet", "--release", "--manifest-path", "words/Cargo.toml"],
    &["unseen", "run", "./calc", "1 + 2 * (3 + 4)"],
    &["unseen", "run", "./calc", "6 / 3"],
    &["unseen", "run", "./bank", "20", "-5"],
    &["unseen", "run", "words/target/unseen/release/words", "the quick fox and the slow fox and The end"],
    &["unseen", "report"],
];

/// Reports that are written to files.
const REPORTS: &[(&str, &str)] = &[("html", "coverage.html"), ("lcov", "coverage.lcov")];

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let own = Own::find()?;
    let dir = workplace(args.dir.as_deref())?;
    for (name, text) in FILES {
        write(&dir.join(name), text)?;
    }
    println!("Working in {}", dir.display());
    for step in STEPS {
        println!("\n$ {}", step.iter().map(|w| quoted(w)).collect::<Vec<_>>().join(" "));
        start(step, &dir, &own)?;
    }
    println!();
    for (format, file) in REPORTS {
        let path = dir.join(file).display().to_string();
        start(&["unseen", "report", "--format", format, "--output", &path], &dir, &own)?;
        println!("{}: {path}", format.to_uppercase());
    }
    Ok(ExitCode::SUCCESS)
}

fn workplace(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let fail = |e: std::io::Error| {
        Failure::environment(format!("can't make a directory for the demo: {e}")).next("choose one with --dir DIR")
    };
    match named {
        Some(dir) => {
            std::fs::create_dir_all(dir).map_err(fail)?;
            std::path::absolute(dir).map_err(fail)
        }
        None => Ok(tempfile::Builder::new().prefix("unseen-demo-").tempdir().map_err(fail)?.keep()),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(path, text))
        .map_err(|e| Failure::environment(format!("can't write {}: {e}", path.display())).next("choose --dir DIR"))
}

/// Runs one step with our own tools, not with others of the same name.
fn start(step: &[&str], dir: &Path, own: &Own) -> Result<(), Failure> {
    let (program, rest) = match step {
        ["cargo", "unseen", rest @ ..] => (own.tool("cargo-unseen"), rest),
        [tool, rest @ ..] => (own.tool(tool), rest),
        [] => return Ok(()),
    };
    let mut command = Command::new(program);
    command.args(rest).current_dir(dir).env("UNSEEN_DIR", dir.join(".unseen"));
    for name in ["UNSEEN_RUN", "UNSEEN_BUILD", "UNSEEN_EXCLUDE", "CARGO_TARGET_DIR", "UNSEEN", "UNSEEN_COVER"] {
        command.env_remove(name);
    }
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            Err(Failure::environment(format!("`{}` failed: {status}", step.join(" "))).next("run `unseen doctor`"))
        }
        Err(e) => Err(Failure::environment(format!("can't run {}: {e}", step[0])).next("run `unseen doctor`")),
    }
}

fn quoted(word: &str) -> String {
    if word.contains(' ') { format!("'{word}'") } else { word.to_owned() }
}
