//! `cargo unseen`: cargo, with our compilers for Rust and for the C and C++ of build scripts.
//!
//! Nothing goes through RUSTFLAGS: `unseen-rustc` decides per crate. Builds have a target directory of their own, so
//! that they and usual builds leave each other alone. What is set for the build is taken back for what cargo runs
//! ([`runner`]).

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use unseen_abi::options;

use super::{launch, link, runner, rustc};
use crate::command::Failure;
use crate::config::{self, Build};
use crate::context::{Llvm, Own};
use crate::environment;
use crate::run::{self, NewRun, program, record};

const ROLE: &str = "cargo-unseen";

const HELP: &str = "\
Runs cargo with Unseen's compilers.

Usage: cargo unseen <build|run|test|bench|check|nextest|...> [CARGO'S OWN ARGUMENTS]

Everything is cargo's, except:
  target directory   <target>/unseen, so that usual builds are not disturbed;
                     --target-dir and CARGO_TARGET_DIR are taken as they are
  compilers          unseen-rustc for Rust; unseen-clang and unseen-clang++ for
                     the C and C++ that build scripts compile for the target
  run, test, bench   record into .unseen at the workspace's root (or UNSEEN_DIR);
                     see it with `unseen report`

Programs, tests, cdylibs and staticlibs are instrumented, with all they use.
Proc-macros, build scripts and dylibs are not.

`unseen options` lists the UNSEEN_* variables, `unseen doctor` checks the tools.
";

/// Subcommands that run what they build.
const RECORDING: &[&str] = &["run", "r", "test", "t", "bench", "nextest"];

/// Plays `cargo unseen`.
pub fn main() -> ExitCode {
    play().unwrap_or_else(|failure| failure.print_as(ROLE))
}

fn play() -> Result<ExitCode, Failure> {
    let mut args: Vec<OsString> = std::env::args_os().skip(1).collect();
    // cargo hands us our own name.
    if args.first().is_some_and(|a| a == "unseen") {
        args.remove(0);
    }
    if args.first().is_some_and(|a| a == runner::FLAG) {
        return Ok(runner::main(&args[1..]));
    }
    match args.first().and_then(|a| a.to_str()) {
        None | Some("-h" | "--help" | "help") => {
            print!("{HELP}");
            return Ok(ExitCode::SUCCESS);
        }
        Some("-V" | "--version") => {
            println!("cargo-unseen {}", env!("CARGO_PKG_VERSION"));
            return Ok(ExitCode::SUCCESS);
        }
        Some(_) => {}
    }
    let env = config::environment();
    environment::check(&env)?;
    let own = Own::find()?;
    own.check()?;
    let llvm = Llvm::find(&env)?;
    let cargo = env.get(OsStr::new("CARGO")).map_or_else(|| PathBuf::from("cargo"), PathBuf::from);
    let workspace = Workspace::ask(&cargo, &args);
    let build = Build::resolve(&workspace.root, &env)?;
    let host = host(&env)?;
    let mut command = Command::new(&cargo);
    let targets = targets(&args, &host);
    let mut changed = variables(&targets, &env, &own, &llvm, &build)?;
    let configured: Vec<OsString> = values(&args, "--config").collect();
    let runs = !runner::is_taken(&env, configured.iter(), &config::working_directory());
    let removed = ["RUSTC_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER"].map(OsStr::new);
    if is_builtin(&args) {
        // By arguments, not by the environment: a test that calls cargo itself must get a cargo of its own. Behind the
        // command, where the user's --config may stand: of those before and behind it cargo takes the latter only.
        let runner = runs.then(|| own.tool(ROLE));
        let settings = settings(target_directory(&args, &env, &workspace), runner, &targets, &own);
        command.arg(&args[0]).args(settings).args(&args[1..]);
        for name in removed {
            command.env_remove(name);
        }
    } else {
        command.args(&args);
        let mut set = |name: &str, value: PathBuf| changed.push((name.into(), value.into()));
        set("RUSTC_WRAPPER", own.tool("unseen-rustc"));
        if let Some(directory) = target_directory(&args, &env, &workspace) {
            set("CARGO_TARGET_DIR", directory);
        }
        let runner = format!("{} {}", own.tool(ROLE).display(), runner::FLAG);
        // Cargo splits it at spaces.
        if runs && runner.split_whitespace().count() == 2 {
            targets.iter().for_each(|target| set(&cargo_variable(target, "RUNNER"), runner.clone().into()));
        }
    }
    command.envs(changed.iter().map(|(name, value)| (name, value)));
    if runs {
        let names = changed.iter().map(|(name, _)| name.as_os_str()).chain(removed);
        command.envs([runner::remember(names, &env)]);
    }
    let recorded = records(&args).then(|| new_run(&workspace.root, &env)).flatten();
    if let Some(new) = &recorded {
        command.envs(new.environment());
        let line: Vec<OsString> = std::iter::once("cargo".into()).chain(args.iter().cloned()).collect();
        note(new, new.started(&line));
    }
    if launch::logs(&env) {
        eprintln!("{ROLE}: runs {command:?}");
    }
    let status = launch::wait(&mut command).map_err(|e| {
        Failure::environment(format!("can't run {}: {e}", cargo.display())).next("install cargo, or set CARGO to it")
    })?;
    if let Some(new) = &recorded {
        note(new, new.ended(&program::ending(status)));
        finish(new);
    }
    Ok(launch::leave_as(status))
}

/// What cargo says about the workspace.
#[derive(Debug)]
struct Workspace {
    root: PathBuf,
    target: Option<PathBuf>,
}

impl Workspace {
    /// Outside of a workspace there is none, and cargo will say so if it matters.
    fn ask(cargo: &Path, args: &[OsString]) -> Workspace {
        let mut command = Command::new(cargo);
        command.args(["metadata", "--no-deps", "--format-version=1", "--quiet"]);
        for name in ["--manifest-path", "--config"] {
            command.args(values(args, name).flat_map(|v| [OsString::from(name), v]));
        }
        let answer = command.output().ok().filter(|o| o.status.success());
        let json: Option<serde_json::Value> = answer.and_then(|o| serde_json::from_slice(&o.stdout).ok());
        let path = |name: &str| Some(PathBuf::from(json.as_ref()?.get(name)?.as_str()?));
        Workspace {
            root: path("workspace_root").unwrap_or_else(config::working_directory),
            target: path("target_directory"),
        }
    }
}

/// The values of one of cargo's options, before `--`.
fn values<'a>(args: &'a [OsString], name: &'a str) -> impl Iterator<Item = OsString> + 'a {
    let end = args.iter().position(|a| a == "--").unwrap_or(args.len());
    (0..end).filter_map(move |i| {
        let word = args[i].to_str()?;
        if word == name {
            return args.get(i + 1).cloned();
        }
        word.strip_prefix(name)?.strip_prefix('=').map(OsString::from)
    })
}

/// The triple rustc compiles for if nothing is said.
fn host(env: &HashMap<OsString, OsString>) -> Result<String, Failure> {
    let rustc = ["RUSTC", options::RUSTC.name].iter().find_map(|n| env.get(OsStr::new(n)));
    let rustc = rustc.map_or_else(|| PathBuf::from("rustc"), PathBuf::from);
    let fail = |why: String| {
        Failure::environment(format!("{}: {why}", rustc.display())).next("install a stable Rust toolchain")
    };
    let out = Command::new(&rustc).arg("-vV").output().map_err(|e| fail(e.to_string()))?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let host = text.lines().find_map(|l| l.strip_prefix("host: ")).map(str::to_owned);
    host.ok_or_else(|| fail("`rustc -vV` names no host".into()))
}

fn records(args: &[OsString]) -> bool {
    let name = args.iter().find(|a| !a.to_string_lossy().starts_with(['-', '+']));
    let only_builds = args.iter().take_while(|a| *a != "--").any(|a| a == "--no-run" || a == "--help" || a == "-h");
    name.is_some_and(|n| RECORDING.iter().any(|r| n == r)) && !only_builds
}

/// Commands that cargo carries out itself, and so hears its own arguments for.
const BUILTIN: &[&str] = &[
    "build", "b", "check", "c", "doc", "d", "run", "r", "test", "t", "bench", "rustc", "rustdoc", "install", "fix",
    "clean",
];

fn is_builtin(args: &[OsString]) -> bool {
    // Arguments before the command may take values we do not know: only the plain form.
    args.first().is_some_and(|name| BUILTIN.iter().any(|b| name == b))
}

/// A target directory beside the usual one, unless the user names one.
fn target_directory(args: &[OsString], env: &HashMap<OsString, OsString>, workspace: &Workspace) -> Option<PathBuf> {
    let named = env.get(OsStr::new("CARGO_TARGET_DIR")).is_some_and(|v| !v.is_empty())
        || values(args, "--target-dir").next().is_some();
    workspace.target.as_ref().filter(|_| !named).map(|target| target.join("unseen"))
}

/// The targets that we compile for: the host and those that are asked for.
fn targets(args: &[OsString], host: &str) -> Vec<String> {
    let asked = values(args, "--target").map(|t| t.to_string_lossy().into_owned());
    let mut all: Vec<String> = std::iter::once(host.to_owned()).chain(asked).collect();
    all.dedup();
    all.retain(|target| rustc::is_our_target(OsStr::new(target)));
    all
}

/// The variable that cargo reads a setting of a target from.
fn cargo_variable(target: &str, setting: &str) -> String {
    format!("CARGO_TARGET_{}_{setting}", target.replace('-', "_").to_uppercase())
}

/// Cargo's own settings, as arguments.
fn settings(directory: Option<PathBuf>, runner: Option<PathBuf>, targets: &[String], own: &Own) -> Vec<String> {
    let quoted = |path: &Path| toml::Value::String(path.to_string_lossy().into_owned()).to_string();
    let mut out = vec![format!("build.rustc-wrapper={}", quoted(&own.tool("unseen-rustc")))];
    out.extend(directory.map(|directory| format!("build.target-dir={}", quoted(&directory))));
    if let Some(runner) = runner.map(|runner| quoted(&runner)) {
        out.extend(targets.iter().map(|target| format!("target.{target}.runner=[{runner}, '{}']", runner::FLAG)));
    }
    out.into_iter().flat_map(|setting| ["--config".into(), setting]).collect()
}

/// Everything that is set for cargo.
fn variables(
    targets: &[String],
    env: &HashMap<OsString, OsString>,
    own: &Own,
    llvm: &Llvm,
    build: &Build,
) -> Result<Vec<(OsString, OsString)>, Failure> {
    let mut out: Vec<(OsString, OsString)> = Vec::new();
    let mut set = |name: &str, value: &OsStr| out.push((name.into(), value.into()));
    let get = |name: &str| env.get(OsStr::new(name)).filter(|v| !v.is_empty());
    if let Some(inner) = get("RUSTC_WRAPPER").or_else(|| get("CARGO_BUILD_RUSTC_WRAPPER")) {
        let name = Path::new(inner).file_name().unwrap_or_default();
        if name.to_string_lossy().starts_with("cargo") {
            return Err(Failure::usage(format!("RUSTC_WRAPPER is already {}", Path::new(inner).display()))
                .next("unset it: two tools that each replace the compiler can't be used at once"));
        }
        if name != "unseen-rustc" {
            set(rustc::INNER_WRAPPER, inner);
        }
    }
    for (name, value) in build.variables() {
        set(name, OsStr::new(&value));
    }
    set(options::LLVM.name, llvm.prefix.as_os_str());
    set(link::LINK, OsStr::new("build"));
    for target in targets {
        for (kind, tool) in [
            ("CC", "unseen-clang"),
            ("CXX", "unseen-clang++"),
            ("AR", "unseen-ar"),
            ("RANLIB", "unseen-ranlib"),
            ("NM", "unseen-nm"),
            ("STRIP", "unseen-strip"),
        ] {
            // cc and its kin look for the triple as it is first, then with underscores.
            for form in [target.clone(), target.replace('-', "_")] {
                set(&format!("{kind}_{form}"), own.tool(tool).as_os_str());
            }
        }
        let toolchain = format!("CMAKE_TOOLCHAIN_FILE_{}", target.replace('-', "_"));
        if get("CMAKE_TOOLCHAIN_FILE").is_none() && get(&toolchain).is_none() {
            set(&toolchain, own.cmake.as_os_str());
        }
        // Doctests link without unseen-rustc, and what they link may hold C as bitcode.
        let linker = cargo_variable(target, "LINKER");
        if get(&linker).is_none() {
            set(&linker, own.tool("unseen-clang").as_os_str());
        }
    }
    Ok(out)
}

/// A run for what cargo is going to start. A store that can't be written stops nothing.
fn new_run(root: &Path, env: &HashMap<OsString, OsString>) -> Option<NewRun> {
    let named = env.get(OsStr::new(options::DIR.name)).map(|d| config::working_directory().join(d));
    let directory = named.unwrap_or_else(|| root.join(".unseen"));
    let name = env.get(OsStr::new(options::RUN.name)).map(|n| n.to_string_lossy().into_owned());
    match run::new_run(&directory, name.as_deref()) {
        Ok(new) => Some(new),
        Err(e) => {
            eprintln!("{ROLE}: warning: {e}; nothing is recorded");
            None
        }
    }
}

fn note(new: &NewRun, result: std::io::Result<()>) {
    if let Err(e) = result {
        eprintln!("{ROLE}: warning: can't write {}: {e}", new.run.directory.display());
    }
}

/// Keeps the manifests, and tells of what was recorded if something is worth telling.
fn finish(new: &NewRun) {
    let record = record::finish(new);
    for (what, times) in &record.dropped {
        eprintln!("{ROLE}: warning: not recorded {times} times: {what}");
    }
    for warning in &record.warnings {
        eprintln!("{ROLE}: warning: {warning}");
    }
    if record.processes == 0 {
        new.forget();
    } else if std::io::IsTerminal::is_terminal(&std::io::stderr()) {
        let name = new.run.name.display();
        eprintln!("unseen: run {name}: {} processes recorded; see them with `unseen report --last`", record.processes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(args: &str, env: &[(&str, &str)]) -> Result<HashMap<String, String>, Failure> {
        let args: Vec<OsString> = args.split_whitespace().map(OsString::from).collect();
        let env = env.iter().map(|(k, v)| (k.into(), v.into())).collect();
        let own = Own::find().unwrap();
        let llvm = Llvm { prefix: "/llvm".into() };
        let targets = targets(&args, "x86_64-unknown-linux-gnu");
        let list = variables(&targets, &env, &own, &llvm, &Build::default())?;
        let text = |s: OsString| s.to_string_lossy().into_owned();
        Ok(list.into_iter().map(|(k, v)| (text(k), text(v))).collect())
    }

    #[test]
    fn a_target_directory_of_its_own_unless_one_is_named() {
        let directory = |args: &str, env: &[(&str, &str)]| {
            let args: Vec<OsString> = args.split_whitespace().map(OsString::from).collect();
            let env = env.iter().map(|(k, v)| (k.into(), v.into())).collect();
            let workspace = Workspace { root: "/w".into(), target: Some("/w/target".into()) };
            target_directory(&args, &env, &workspace)
        };
        assert_eq!(directory("build", &[]), Some("/w/target/unseen".into()));
        assert_eq!(directory("build --target-dir x", &[]), None);
        assert_eq!(directory("build --target-dir=x", &[]), None);
        assert_eq!(directory("build", &[("CARGO_TARGET_DIR", "x")]), None);
        assert_eq!(directory("run -- --target-dir x", &[]), Some("/w/target/unseen".into()));
    }

    #[test]
    fn compilers_are_set_for_our_targets_only() {
        let all = set("build --target wasm32-wasip1 --target=x86_64-unknown-linux-musl", &[]).unwrap();
        assert!(all["CC_x86_64_unknown_linux_gnu"].ends_with("unseen-clang"));
        assert!(all["CXX_x86_64-unknown-linux-musl"].ends_with("unseen-clang++"));
        assert!(!all.keys().any(|k| k.contains("wasm32")));
    }

    #[test]
    fn another_wrapper_is_called_in_between_or_refused() {
        assert_eq!(set("build", &[("RUSTC_WRAPPER", "sccache")]).unwrap()[rustc::INNER_WRAPPER], "sccache");
        assert!(!set("build", &[("RUSTC_WRAPPER", "/x/unseen-rustc")]).unwrap().contains_key(rustc::INNER_WRAPPER));
        assert!(set("build", &[("RUSTC_WRAPPER", "/x/cargo-llvm-cov")]).is_err());
    }

    #[test]
    fn only_what_runs_is_recorded() {
        let records = |l: &str| records(&l.split_whitespace().map(OsString::from).collect::<Vec<_>>());
        assert!(records("test") && records("-q run -- --no-run") && records("nextest run"));
        assert!(!records("build") && !records("test --no-run") && !records("check"));
    }
}
