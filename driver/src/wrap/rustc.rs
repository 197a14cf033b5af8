//! `unseen-rustc`: a Rust compiler, and cargo's `RUSTC_WRAPPER` (then the real rustc is the first argument).
//!
//! Libraries get both native code and bitcode as written, so that they can be linked with and without us. A final crate
//! (executable, test, cdylib, staticlib) is merged with everything it uses, std included, into one module, which
//! `unseen-clang` links. What serves the build itself (proc-macros, build scripts) is left alone. A dylib holds native code
//! only; of a crate that is a library of both kinds the other one is used, as rustc does.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use object::{Object as _, ObjectSymbol as _};
use unseen_abi::options;

use super::rust_args::{Arg, Args};
use super::{LEVEL, Outcome, Scope, launch, link};
use crate::command::Failure;
use crate::config::{self, Build};
use crate::context::{self, LLVM_MAJOR, Own};

const ROLE: &str = "unseen-rustc";

/// Internal, from `cargo unseen`: another wrapper that was set for cargo, called in between.
pub const INNER_WRAPPER: &str = "UNSEEN_INNER_WRAPPER";

/// Crate types that are linked for good.
const FINAL: &[&str] = &["bin", "cdylib", "staticlib"];

/// Plays rustc.
pub fn main() -> ExitCode {
    run().unwrap_or_else(|failure| failure.print_as(ROLE))
}

fn run() -> Result<ExitCode, Failure> {
    let env = config::environment();
    let own = Own::find()?;
    let mut words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let compiler = compiler(&mut words, &env, &own);
    let args = Args::parse(words);
    let build = Build::resolve(&config::working_directory(), &env)?;
    let facts = Facts::of(&args, &env, &build)?;
    let steps = plan(&args, &facts, &own);
    if steps.iter().any(|s| s.outcome == Outcome::Handled(Scope::Program) && s.links) {
        own.check()?;
        check_version(&compiler)?;
    }
    let last = steps.len() - 1;
    for (i, step) in steps.into_iter().enumerate() {
        let mut command = Command::new(&compiler[0]);
        command.args(&compiler[1..]).args(&step.args).envs(build.variables()).envs(step.env.iter().cloned());
        if launch::logs(&env) {
            eprintln!("{ROLE}: {}: {}", facts.name, step.outcome);
            eprintln!("{ROLE}: runs {command:?}");
        }
        if i == last && step.dep_info.is_none() {
            use std::os::unix::process::CommandExt as _;
            return Err(not_started(&compiler[0], &command.exec()));
        }
        let status = launch::wait(&mut command).map_err(|e| not_started(&compiler[0], &e))?;
        if !status.success() {
            return Ok(launch::leave_as(status));
        }
        if let Some(path) = &step.dep_info {
            track(path, &own, &env);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn not_started(compiler: &Path, error: &std::io::Error) -> Failure {
    Failure::environment(format!("can't run {}: {error}", compiler.display()))
        .next("install a stable Rust toolchain, or set UNSEEN_RUSTC to a rustc")
}

/// The command that is the real compiler. As a wrapper we are given it: rustc, or a driver and then rustc.
fn compiler(words: &mut Vec<OsString>, env: &HashMap<OsString, OsString>, own: &Own) -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> = env.get(OsStr::new(INNER_WRAPPER)).map(PathBuf::from).into_iter().collect();
    let given = words.iter().take_while(|w| is_compiler(Path::new(w))).count();
    if given > 0 {
        out.extend(words.drain(..given).map(PathBuf::from));
        return out;
    }
    let named = env.get(OsStr::new(options::RUSTC.name)).map(PathBuf::from);
    let found = || context::on_path("rustc", env).filter(|p| *p != own.tool(ROLE));
    out.push(named.or_else(found).unwrap_or_else(|| "rustc".into()));
    out
}

/// Whether a first argument is a compiler and not a source file.
fn is_compiler(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let known = name == "rustc" || name.starts_with("clippy-driver") || name.starts_with("rustc-");
    known || (path.is_absolute() && path.extension().is_none_or(|e| e != "rs") && context::is_executable(path))
}

/// What we must know of a compilation.
#[derive(Debug)]
pub struct Facts {
    name: String,
    types: Vec<String>,
    not_a_compile: Option<&'static str>,
    /// It serves the build, for this reason.
    for_build: Option<&'static str>,
    /// It can't be handled, for this reason.
    declined: Option<String>,
    /// What is linked can't be merged with what it uses, for this reason; a library beside it is handled.
    not_merged: Option<String>,
    level: char,
    debug: bool,
    in_cargo: bool,
}

impl Facts {
    fn of(args: &Args, env: &HashMap<OsString, OsString>, build: &Build) -> Result<Facts, Failure> {
        let mut types = args.crate_types();
        if args.has("--test") {
            types = vec!["bin".into()];
        }
        if types.is_empty() {
            types = args.inputs().next().map(|i| types_in_source(Path::new(i))).unwrap_or_default();
        }
        for t in &mut types {
            if t == "lib" {
                *t = "rlib".into();
            }
        }
        let in_cargo = env.contains_key(OsStr::new("CARGO_PKG_NAME"));
        let crate_name = args.values("--crate-name").next_back().map(|n| n.to_string_lossy().into_owned());
        let input = || args.inputs().next().map(|i| Path::new(i).display().to_string());
        let name = crate_name.or_else(input).unwrap_or_default();
        let for_build = if types.iter().any(|t| t == "proc-macro") {
            Some("a proc-macro")
        } else if in_cargo && name.starts_with("build_script_") {
            Some("a build script")
        } else {
            None
        };
        let not_merged = not_merged(args, &types);
        let is_library = types.iter().any(|t| t == "rlib");
        let facts = Facts {
            not_a_compile: not_a_compile(args),
            declined: declined(args, build).or_else(|| not_merged.clone().filter(|_| !is_library)),
            not_merged,
            level: args.level(),
            debug: args.debug(),
            for_build,
            name,
            types,
            in_cargo,
        };
        if facts.not_a_compile.is_none() && facts.for_build.is_none() && facts.declined.is_none() && facts.merges() {
            check_linker(args, env)?;
        }
        Ok(facts)
    }

    fn links(&self) -> bool {
        self.types.iter().any(|t| t != "rlib")
    }

    /// Whether there is something to merge with all that it uses.
    fn merges(&self) -> bool {
        self.not_merged.is_none() && self.links()
    }
}

fn not_a_compile(args: &Args) -> Option<&'static str> {
    let asks = ["--version", "-V", "-vV", "--help", "-h", "--print", "--explain"];
    let lists = args.codegen("help").is_some() || args.values("-W").any(|v| v == "help") || args.has("-vh");
    if asks.iter().any(|n| args.has(n)) || lists {
        Some("a question")
    } else if args.inputs().next().is_none() {
        Some("nothing to compile")
    } else if args.inputs().any(|i| i == "-") {
        Some("a probe from standard input")
    } else if !args.emit().iter().any(|(kind, _)| kind == "link") {
        Some("no code is linked")
    } else {
        None
    }
}

fn declined(args: &Args, build: &Build) -> Option<String> {
    if let Some(target) = args.values("--target").next_back().filter(|t| !is_our_target(t)) {
        return Some(format!("code for {}", target.display()));
    }
    if !build.lto {
        return Some("Rust is instrumented at link time only, and UNSEEN_LTO is off".into());
    }
    if let Some((kind, _)) = args.emit().iter().find(|(k, _)| !["link", "metadata", "dep-info"].contains(&k.as_str())) {
        return Some(format!("--emit={kind} shows code before the link"));
    }
    None
}

fn not_merged(args: &Args, types: &[String]) -> Option<String> {
    if types.iter().any(|t| t == "dylib") {
        return Some("a dylib: rustc can't merge it with what it uses".into());
    }
    if !types.iter().any(|t| FINAL.contains(&t.as_str())) {
        return None;
    }
    if args.codegen("prefer-dynamic").is_some_and(|v| v != "no") {
        return Some("-C prefer-dynamic: what it uses is linked dynamically".into());
    }
    Some(format!("it uses the dylib {}", dylib_used(args)?.display()))
}

/// The first crate that is there as a dylib only. Cargo names all files of a crate, and rustc takes an rlib before a dylib.
fn dylib_used(args: &Args) -> Option<PathBuf> {
    let file = |v: &OsStr| {
        let text = v.to_string_lossy();
        let (name, path) = text.split_once('=')?;
        // Before the name may stand options: `priv,noprelude:name`.
        Some((name.rsplit(':').next()?.to_owned(), PathBuf::from(path)))
    };
    let files: Vec<(String, PathBuf)> = args.values("--extern").filter_map(file).collect();
    let is = |path: &Path, kind: &str| path.extension().is_some_and(|e| e == kind);
    let has_rlib = |name: &str| files.iter().any(|(n, path)| n == name && is(path, "rlib"));
    let only_dylib = |(name, path): &&(String, PathBuf)| is(path, "so") && !has_rlib(name) && !is_proc_macro(path);
    files.iter().find(only_dylib).map(|(_, path)| path.clone())
}

/// Whether code for that target goes through the pass.
pub fn is_our_target(target: &OsStr) -> bool {
    let target = target.to_string_lossy();
    target.starts_with("x86_64-") && (target.ends_with("-linux-gnu") || target.ends_with("-linux-musl"))
}

/// A proc-macro and a dylib are both `.so`; only the first has the table that rustc looks for.
fn is_proc_macro(path: &Path) -> bool {
    let Ok(data) = std::fs::read(path) else { return false };
    object::File::parse(&*data)
        .is_ok_and(|f| f.dynamic_symbols().any(|s| s.name().is_ok_and(|n| n.starts_with("__rustc_proc_macro_decls_"))))
}

/// `#![crate_type = "..."]` in the source, for commands that leave it to that.
fn types_in_source(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let attribute = |line: &str| {
        let rest = line.trim().strip_prefix("#![crate_type")?.trim_start().strip_prefix('=')?.trim_start();
        Some(rest.strip_prefix('"')?.split('"').next()?.to_owned())
    };
    let found: Vec<_> = text.lines().filter_map(attribute).collect();
    if found.is_empty() { vec!["bin".into()] } else { found }
}

/// The link goes through `unseen-clang`: another compiler driver gives way, another linker does not.
fn check_linker(args: &Args, env: &HashMap<OsString, OsString>) -> Result<(), Failure> {
    if env.get(OsStr::new(options::LINKER.name)).is_some_and(|v| v == "lld") {
        return Ok(());
    }
    let driver = |linker: &str| {
        let name = Path::new(linker).file_name().unwrap_or_default().to_string_lossy().into_owned();
        ["cc", "c++", "gcc", "g++", "clang", "clang++"].iter().any(|d| name == *d || name.starts_with(&format!("{d}-")))
            || name.ends_with("-gcc")
            || name.ends_with("-cc")
            || name.starts_with("unseen-clang")
    };
    let demanded = args.codegen("linker").filter(|l| !driver(l)).map(|l| format!("-C linker={l}"));
    let flavor = args.codegen("linker-flavor").filter(|f| !(f == "gcc" || f.ends_with("-cc")));
    match demanded.or(flavor.map(|f| format!("-C linker-flavor={f}"))) {
        None => Ok(()),
        Some(what) => Err(Failure::environment(format!("{what} was demanded, but only lld can run the pass"))
            .next("drop it, or set UNSEEN_LINKER=lld to link with lld all the same")),
    }
}

/// One run of the real compiler.
#[derive(Debug)]
pub struct Step {
    outcome: Outcome,
    args: Vec<OsString>,
    env: Vec<(&'static str, String)>,
    /// Whether it ends in a link.
    links: bool,
    /// Where to note what else the result depends on.
    dep_info: Option<PathBuf>,
}

/// What is to be done. Pure.
fn plan(args: &Args, facts: &Facts, own: &Own) -> Vec<Step> {
    let unchanged =
        |outcome| Step { outcome, args: args.without(|_| false), env: Vec::new(), links: false, dep_info: None };
    if let Some(why) = facts.not_a_compile {
        return vec![unchanged(Outcome::NotACompile(why))];
    }
    if let Some(why) = facts.for_build {
        // What it uses may hold C as bitcode, which only our linker can read.
        let mut step = unchanged(Outcome::Declined(why.into()));
        if args.codegen("linker").is_none_or(|l| l.contains("unseen-clang")) {
            step.args.push(linker(own));
        }
        step.env.push((link::LINK, "plain".into()));
        return vec![step];
    }
    if let Some(why) = &facts.declined {
        let mut step = unchanged(Outcome::Declined(why.clone()));
        if !why.starts_with("code for") && facts.links() {
            link_declined(&mut step, facts, why, own);
        }
        return vec![step];
    }
    // What can't be merged is made together with the library: both must be the same crate for those who use them.
    let is_final = |t: &String| facts.merges() && FINAL.contains(&t.as_str());
    let (finals, libraries): (Vec<_>, Vec<_>) = facts.types.iter().cloned().partition(is_final);
    let mut steps = Vec::new();
    if !libraries.is_empty() {
        let mut step = library(args, facts, &libraries, !finals.is_empty());
        if let Some(why) = &facts.not_merged {
            link_declined(&mut step, facts, why, own);
        }
        steps.push(step);
    }
    if !finals.is_empty() {
        steps.push(program(args, facts, &finals, own, !libraries.is_empty()));
    }
    steps
}

/// The step links native code; the product says why.
fn link_declined(step: &mut Step, facts: &Facts, why: &str, own: &Own) {
    step.args.push(linker(own));
    step.env.push((link::LINK, "program".into()));
    step.env.push((link::DECLINED, format!("{}: {why}", facts.name)));
}

fn linker(own: &Own) -> OsString {
    super::clang::joined("-Clinker=", &own.tool("unseen-clang"))
}

/// What our own choice replaces.
fn replaced(arg: &Arg) -> bool {
    arg.is_codegen(&["embed-bitcode", "linker-plugin-lto", "lto"])
}

/// The crate type is only said again where there were several, so that attributes in the source keep their say.
fn library(args: &Args, facts: &Facts, types: &[String], split: bool) -> Step {
    let mut out = args.without(|a| replaced(a) || (split && a.name == "--crate-type"));
    if split {
        out.extend(types.iter().map(|t| format!("--crate-type={t}").into()));
    }
    out.extend(pristine(facts));
    Step { outcome: Outcome::Handled(Scope::Program), args: out, env: Vec::new(), links: false, dep_info: None }
}

fn program(args: &Args, facts: &Facts, types: &[String], own: &Own, split: bool) -> Step {
    let mut out = args.without(|a| {
        replaced(a)
            || a.is_codegen(&["incremental", "linker", "linker-flavor"])
            || (split && ["--crate-type", "--emit"].contains(&a.name.as_str()))
    });
    if split {
        // The library's run has told the warnings and written the rest.
        out.extend(types.iter().map(|t| format!("--crate-type={t}").into()));
        out.extend(["--emit=link", "--cap-lints=allow"].map(OsString::from));
    }
    out.extend(pristine(facts));
    out.extend(["-Clto=fat", "-Clinker-plugin-lto"].map(OsString::from));
    out.push(linker(own));
    Step {
        outcome: Outcome::Handled(Scope::Program),
        args: out,
        env: vec![(link::LINK, link::CRATE.into()), (LEVEL, facts.level.into())],
        links: true,
        dep_info: args.dep_info().filter(|_| facts.in_cargo),
    }
}

/// Code as written, with lines: the user's level runs when all of it is linked.
fn pristine(facts: &Facts) -> Vec<OsString> {
    let mut out: Vec<OsString> =
        ["-Cembed-bitcode=yes", "-Cno-prepopulate-passes", "--cfg=unseen", "--check-cfg=cfg(unseen)"]
            .map(OsString::from)
            .into();
    if matches!(facts.level, '2' | '3') {
        // rustc's own inliner would make small functions vanish.
        out.push("-Copt-level=1".into());
    }
    if !facts.debug {
        out.push("-Cdebuginfo=line-tables-only".into());
    }
    out
}

/// Newer bitcode than our LLVM's can't be read.
fn check_version(compiler: &[PathBuf]) -> Result<(), Failure> {
    let rustc = compiler.last().map_or(Path::new("rustc"), PathBuf::as_path);
    let out = Command::new(rustc).arg("-vV").output().map_err(|e| not_started(rustc, &e))?;
    let text = String::from_utf8_lossy(&out.stdout);
    match llvm_of(&text) {
        Some(major) if major > LLVM_MAJOR => Err(Failure::environment(format!(
            "{} has LLVM {major}; its bitcode can't be read by LLVM {LLVM_MAJOR}",
            rustc.display()
        ))
        .next(format!("use a toolchain with LLVM {LLVM_MAJOR} or older, for example `rustup default 1.95`"))),
        _ => Ok(()),
    }
}

/// The major version of LLVM in the output of `rustc -vV`.
pub fn llvm_of(version: &str) -> Option<u32> {
    version.lines().find_map(|l| l.strip_prefix("LLVM version: "))?.split('.').next()?.parse().ok()
}

/// Tells cargo what else the result depends on: the pass, the runtime and their options.
fn track(path: &Path, own: &Own, env: &HashMap<OsString, OsString>) {
    let Ok(text) = std::fs::read_to_string(path) else { return };
    let escaped = |p: &Path| p.display().to_string().replace(' ', "\\ ");
    let ours = format!(" {} {}", escaped(&own.plugin), escaped(&own.runtime));
    let mut out = String::new();
    let mut first = true;
    for line in text.lines() {
        out.push_str(line);
        if first && line.contains(": ") {
            out.push_str(&ours);
            first = false;
        }
        out.push('\n');
    }
    for option in [options::BUILD, options::EXCLUDE, options::STD, options::LTO, options::WATCH] {
        match env.get(OsStr::new(option.name)) {
            Some(value) => out.push_str(&format!("# env-dep:{}={}\n", option.name, value.to_string_lossy())),
            None => out.push_str(&format!("# env-dep:{}\n", option.name)),
        }
    }
    // Losing this costs a rebuild that is not made; the build itself is good.
    let _ = std::fs::write(path, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(line: &str, env: &[(&str, &str)]) -> Vec<Step> {
        let env: HashMap<OsString, OsString> = env.iter().map(|(k, v)| (k.into(), v.into())).collect();
        let args = Args::parse(line.split_whitespace().map(OsString::from).collect());
        let own = Own::find().unwrap();
        let facts = Facts::of(&args, &env, &Build::default()).unwrap();
        plan(&args, &facts, &own)
    }

    fn text(step: &Step) -> String {
        step.args.iter().map(|a| a.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn questions_and_checks_pass_through() {
        for line in
            ["-vV", "--print=cfg", "- --crate-name ___ --print=file-names", "--emit=metadata a.rs", "--explain E1"]
        {
            let steps = steps(line, &[]);
            assert!(matches!(steps[0].outcome, Outcome::NotACompile(_)), "{line}");
            assert_eq!(text(&steps[0]), line);
        }
    }

    #[test]
    fn libraries_keep_native_code_and_programs_are_merged() {
        let lib =
            &steps("--crate-type lib a.rs -Cembed-bitcode=no -Copt-level=3 -Clinker-plugin-lto -Cincremental=i", &[])
                [0];
        assert_eq!(
            text(lib),
            "--crate-type lib a.rs -Copt-level=3 -Cincremental=i -Cembed-bitcode=yes -Cno-prepopulate-passes \
             --cfg=unseen --check-cfg=cfg(unseen) -Copt-level=1 -Cdebuginfo=line-tables-only"
        );
        let bin = &steps("a.rs -g -O -Clto=thin -Cincremental=i -Clinker=clang", &[])[0];
        let line = text(bin);
        assert!(line.starts_with("a.rs -g -O -Cembed-bitcode=yes"), "{line}");
        assert!(line.contains("-Clto=fat -Clinker-plugin-lto -Clinker="), "{line}");
        assert!(!line.contains("debuginfo") && !line.contains("incremental") && !line.contains("thin"));
        assert_eq!(bin.env, [(link::LINK, link::CRATE.to_owned()), (LEVEL, "3".to_owned())]);
    }

    #[test]
    fn a_crate_of_both_kinds_is_compiled_twice() {
        let steps = steps("--crate-type rlib --crate-type cdylib --emit=dep-info,metadata,link a.rs", &[]);
        assert_eq!(steps.len(), 2);
        assert!(text(&steps[0]).contains("--crate-type=rlib") && !text(&steps[0]).contains("cdylib"));
        let second = text(&steps[1]);
        assert!(second.contains("--crate-type=cdylib --emit=link --cap-lints=allow"), "{second}");
        assert!(!second.contains("rlib") && !second.contains("dep-info"));
    }

    #[test]
    fn a_dylib_is_made_with_its_rlib_and_only_the_rlib_is_used() {
        let steps = steps("--crate-type dylib,rlib --crate-name x -Cprefer-dynamic -O a.rs", &[]);
        assert_eq!((steps.len(), &steps[0].outcome), (1, &Outcome::Handled(Scope::Program)));
        assert!(text(&steps[0]).starts_with("--crate-type dylib,rlib --crate-name x -Cprefer-dynamic -O a.rs -Cembed"));
        assert_eq!(steps[0].env[1], (link::DECLINED, "x: a dylib: rustc can't merge it with what it uses".to_owned()));

        let outcome = |externs: &str| super::tests::steps(&format!("a.rs {externs}"), &[])[0].outcome.clone();
        let handled = Outcome::Handled(Scope::Program);
        assert_eq!(outcome("--extern y=/t/liby.so --extern y=/t/liby.rlib"), handled);
        assert_eq!(outcome("--extern priv:y=/t/liby.rlib --extern priv,noprelude:y=/t/liby.so"), handled);
        let declined = Outcome::Declined("it uses the dylib /t/liby.so".into());
        assert_eq!(outcome("--extern x=/t/libx.rlib --extern y=/t/liby.so"), declined);
        // A library beside what can't be merged is one of ours all the same.
        let steps = super::tests::steps("--crate-type rlib,cdylib --extern y=/t/liby.so a.rs", &[]);
        assert_eq!((steps.len(), &steps[0].outcome), (1, &handled));
        assert!(text(&steps[0]).starts_with("--crate-type rlib,cdylib") && !text(&steps[0]).contains("lto"));
    }

    #[test]
    fn what_serves_the_build_is_left_alone() {
        for line in ["--crate-type proc-macro a.rs", "--crate-name build_script_build --crate-type bin build.rs"] {
            let step = &steps(line, &[("CARGO_PKG_NAME", "x")])[0];
            assert!(text(step).starts_with(&format!("{line} -Clinker=")), "{}", text(step));
            assert_eq!(step.env, [(link::LINK, "plain".to_owned())]);
        }
    }

    #[test]
    fn declined_crates_say_why() {
        for (line, why) in [
            ("--crate-type dylib a.rs", "a dylib"),
            ("--target wasm32-unknown-unknown a.rs", "code for wasm32"),
            ("-Cprefer-dynamic a.rs", "-C prefer-dynamic"),
            ("--emit=link,asm a.rs", "--emit=asm"),
        ] {
            let step = &steps(line, &[])[0];
            let Outcome::Declined(reason) = &step.outcome else { panic!("{line}") };
            assert!(reason.starts_with(why), "{reason}");
        }
    }

    #[test]
    fn another_linker_is_refused() {
        let env = HashMap::new();
        for line in ["-Clinker=ld.gold a.rs", "-Clinker-flavor=ld a.rs", "-C linker=/usr/bin/mold a.rs"] {
            let args = Args::parse(line.split_whitespace().map(OsString::from).collect());
            let failure = Facts::of(&args, &env, &Build::default()).unwrap_err().to_string();
            assert!(failure.contains("only lld can run the pass"), "{failure}");
        }
        assert!(!steps("-Clinker=x86_64-linux-gnu-gcc a.rs", &[]).is_empty());
    }

    #[test]
    fn cargo_learns_of_the_pass_and_its_options() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.d");
        std::fs::write(&path, "x: a.rs b.rs\n\na.rs:\n").unwrap();
        let own = Own::find().unwrap();
        track(&path, &own, &HashMap::from([("UNSEEN_BUILD".into(), "cover".into())]));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("x: a.rs b.rs /"), "{text}");
        assert!(text.lines().next().unwrap().ends_with("libunseen_rt.a"), "{text}");
        assert!(text.contains("# env-dep:UNSEEN_BUILD=cover\n") && text.contains("# env-dep:UNSEEN_STD\n"), "{text}");
    }
}
