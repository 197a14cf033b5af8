//! `unseen demo`: the main job end to end. Coverage of three small programs; tests inside a program, and what they cost.

mod sieve;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use super::{Failure, Outcome};
use crate::config;
use crate::context::Own;
use crate::environment;

/// Arguments of `unseen demo`.
#[derive(clap::Args)]
pub struct Args {
    /// Where to work [default: a new directory for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The sources of Lua 5.4, to attach tests to; without them a small program is taken
    #[arg(long, value_name = "DIR")]
    lua: Option<PathBuf>,
}

/// The programs ride in the tool, so that an installed one can show them too.
const FILES: &[(&str, &str)] = &[
    ("calc.c", include_str!("../../../demo/c/calc.c")),
    ("bank.cpp", include_str!("../../../demo/cpp/bank.cpp")),
    ("sieve.c", include_str!("../../../demo/c/sieve.c")),
    ("sieve-test.c", include_str!("../../../demo/c/sieve-test.c")),
    ("cache.c", include_str!("../../../demo/c/cache.c")),
    ("cache-test.c", include_str!("../../../demo/c/cache-test.c")),
    ("lua-test.c", include_str!("../../../demo/c/lua-test.c")),
    ("work.lua", include_str!("../../../demo/c/work.lua")),
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

/// Tests inside a small program.
const CACHE: &[&[&str]] = &[
    &["unseen-clang", "-g", "-O2", "cache.c", "cache-test.c", "-o", "cache"],
    &["unseen", "units", "cache"],
    &["unseen", "run", "./cache", "2", "3", "2", "3", "4", "5"],
];

/// Tests inside Lua, which knows nothing of them.
const LUA: &[&[&str]] =
    &[&["unseen", "units", "lua"], &["unseen", "run", "./lua", "work.lua"], &["unseen", "run", "./lua", "work.lua"]];

/// What it costs.
const SIEVE: &[&[&str]] = &[&["unseen-clang", "-O2", "--unseen=state", "sieve.c", "sieve-test.c", "-o", "sieve"]];

/// Reports that are written to files.
const REPORTS: &[(&str, &str)] = &[("html", "coverage.html"), ("lcov", "coverage.lcov")];

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    environment::check(&config::environment())?;
    let own = Own::find()?;
    let dir = workplace(args.dir.as_deref())?;
    for (name, text) in FILES {
        write(&dir.join(name), text)?;
    }
    println!("Working in {}", dir.display());
    show(STEPS, &dir, &own)?;
    match args.lua.as_deref().map(|sources| lua(sources, &dir, &own)) {
        Some(built) => {
            built?;
            show(LUA, &dir, &own)?;
        }
        None => show(CACHE, &dir, &own)?,
    }
    println!("\n$ unseen tests");
    // The small program has a bug, which its test finds: that is no failure of the demo.
    tests(&dir, &own)?;
    show(SIEVE, &dir, &own)?;
    sieve::experiment(&dir, &own)?;
    println!();
    for (format, file) in REPORTS {
        let path = dir.join(file).display().to_string();
        start(&["unseen", "report", "--format", format, "--output", &path], &dir, &own)?;
        println!("{}: {path}", format.to_uppercase());
    }
    Ok(ExitCode::SUCCESS)
}

fn show(steps: &[&[&str]], dir: &Path, own: &Own) -> Result<(), Failure> {
    for step in steps {
        println!("\n$ {}", step.iter().map(|w| quoted(w)).collect::<Vec<_>>().join(" "));
        start(step, dir, own)?;
    }
    Ok(())
}

/// Builds Lua with tests of its functions.
fn lua(sources: &Path, dir: &Path, own: &Own) -> Result<(), Failure> {
    let unreadable = |e: std::io::Error| {
        Failure::environment(format!("can't read {}: {e}", sources.display())).next("leave out --lua")
    };
    let entries = std::fs::read_dir(sources).map_err(unreadable)?;
    let mut files: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    // luac is another program.
    files.retain(|f| f.extension().is_some_and(|e| e == "c") && f.file_stem().is_some_and(|s| s != "luac"));
    files.sort();
    if files.is_empty() {
        return Err(
            Failure::environment(format!("{} has no sources of Lua", sources.display())).next("leave out --lua")
        );
    }
    // Debian's patch of luaconf.h wants to know where modules of this machine are; none are loaded.
    write(&dir.join("lua5.4-deb-multiarch.h"), "#define DEB_HOST_MULTIARCH \"none\"\n")?;
    let flags = ["unseen-clang", "-w", "-g", "-O2", "-DLUA_USE_POSIX", "-I."];
    println!("\n$ {} {}/*.c lua-test.c -o lua -lm", flags.join(" "), sources.display());
    let names: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
    let rest = ["lua-test.c", "-o", "lua", "-lm"];
    let step: Vec<&str> = flags.into_iter().chain(names.iter().map(String::as_str)).chain(rest).collect();
    start(&step, dir, own)
}

/// What became of the tests.
fn tests(dir: &Path, own: &Own) -> Result<(), Failure> {
    let mut command = Command::new(own.tool("unseen"));
    command.arg("tests").current_dir(dir).env("UNSEEN_DIR", dir.join(".unseen")).env_remove("UNSEEN_RUN");
    let status = command.status().map_err(|e| Failure::environment(format!("can't run unseen: {e}")))?;
    match status.code() {
        Some(0 | 1) => Ok(()),
        _ => Err(Failure::environment(format!("`unseen tests` failed: {status}")).next("run `unseen doctor`")),
    }
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
