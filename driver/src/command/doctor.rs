//! `unseen doctor`: every tool, its version and path, and what to do about what is wrong.

use std::path::Path;
use std::process::{Command, ExitCode};

use super::{Outcome, failure};
use crate::config::{self, Build};
use crate::context::{self, LLVM_ADVICE, LLVM_MAJOR, Llvm, Own};
use crate::environment;
use crate::role;
use crate::wrap::rustc;

/// Arguments of `unseen doctor`.
#[derive(clap::Args)]
pub struct Args {
    /// How to print the findings
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

/// One thing that was looked at.
#[derive(Debug)]
struct Check {
    name: String,
    /// Version and path, or what is wrong.
    found: String,
    /// What to do, if something is wrong.
    advice: Option<String>,
}

impl Check {
    fn fine(name: &str, found: String) -> Check {
        Check { name: name.into(), found, advice: None }
    }

    fn wrong(name: &str, found: String, advice: &str) -> Check {
        Check { name: name.into(), found, advice: Some(advice.into()) }
    }
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let checks = checks()?;
    let healthy = checks.iter().all(|c| c.advice.is_none());
    match args.format {
        Format::Text => print!("{}", text(&checks)),
        Format::Json => println!("{:#}", json(&checks, healthy)),
    }
    Ok(if healthy { ExitCode::SUCCESS } else { ExitCode::from(failure::ENVIRONMENT) })
}

fn checks() -> Result<Vec<Check>, super::Failure> {
    let env = config::environment();
    let own = Own::find()?;
    let mut out = Vec::new();
    out.push(Check::fine("unseen", format!("{}, {}", env!("CARGO_PKG_VERSION"), own.tool("unseen").display())));
    for role in role::names() {
        let path = own.tool(role);
        out.push(match context::is_executable(&path) {
            true => Check::fine(role, path.display().to_string()),
            false => Check::wrong(role, format!("{} is missing", path.display()), "run scripts/build"),
        });
    }
    for (name, path, checked) in
        [("plugin", &own.plugin, own.check_plugin()), ("runtime", &own.runtime, own.check_runtime())]
    {
        out.push(match checked {
            Ok(()) => Check::fine(name, format!("ABI {}, {}", unseen_abi::ABI_VERSION, path.display())),
            Err(failure) => Check::wrong(name, failure.what().to_owned(), failure.advice().unwrap_or_default()),
        });
    }
    for (name, path) in [("header", &own.header), ("cmake toolchain", &own.cmake), ("linker's allocator", &own.malloc)]
    {
        out.push(match path.is_file() {
            true => Check::fine(name, path.display().to_string()),
            false => Check::wrong(name, format!("{} is missing", path.display()), "install again"),
        });
    }
    match Llvm::find(&env) {
        Ok(llvm) => out.extend(LLVM_TOOLS.iter().map(|t| llvm_tool(&llvm, t))),
        Err(failure) => out.push(Check::wrong("llvm", failure.what().to_owned(), LLVM_ADVICE)),
    }
    out.push(rust(&env));
    out.push(cargo());
    out.extend(
        environment::problems(&env).into_iter().map(|failure| {
            Check::wrong("environment", failure.what().to_owned(), failure.advice().unwrap_or_default())
        }),
    );
    // They have been told of.
    let mut env = env;
    environment::unknown(&env).iter().for_each(|name| drop(env.remove(std::ffi::OsStr::new(name))));
    out.push(match Build::resolve(&config::working_directory(), &env) {
        Ok(build) => {
            let set: Vec<_> = build.variables().into_iter().map(|(k, v)| format!("{k}={v}")).collect();
            Check::fine("configuration", set.join(" "))
        }
        Err(failure) => {
            Check::wrong("configuration", failure.what().to_owned(), failure.advice().unwrap_or("correct it"))
        }
    });
    Ok(out)
}

/// What we call of LLVM.
const LLVM_TOOLS: &[&str] = &["clang", "clang++", "ld.lld", "llvm-ar", "llvm-nm", "llvm-objcopy", "llvm-strip"];

fn llvm_tool(llvm: &Llvm, tool: &str) -> Check {
    let path = llvm.tool(tool);
    match version(&path, &["--version"]) {
        Ok(text) if has_major(&text) => Check::fine(tool, format!("{}, {}", number(&text), path.display())),
        Ok(text) => {
            let found = format!("{} is version {}, not {LLVM_MAJOR}", path.display(), number(&text));
            Check::wrong(tool, found, LLVM_ADVICE)
        }
        Err(why) => Check::wrong(tool, format!("{}: {why}", path.display()), LLVM_ADVICE),
    }
}

fn version(path: &Path, args: &[&str]) -> Result<String, String> {
    let out = Command::new(path).args(args).output().map_err(|e| e.to_string())?;
    match out.status.success() {
        true => Ok(String::from_utf8_lossy(&out.stdout).into_owned()),
        false => Err(format!("`{} {}` failed", path.display(), args.join(" "))),
    }
}

/// The first word that looks like a version: digits and dots.
fn number(text: &str) -> &str {
    let dotted = |w: &&str| w.contains('.') && w.starts_with(|c: char| c.is_ascii_digit());
    text.split_whitespace().find(dotted).unwrap_or("unknown").trim_end_matches([',', ')'])
}

fn has_major(text: &str) -> bool {
    number(text).split('.').next().and_then(|n| n.parse().ok()) == Some(LLVM_MAJOR)
}

fn rust(env: &std::collections::HashMap<std::ffi::OsString, std::ffi::OsString>) -> Check {
    let named = env.get(std::ffi::OsStr::new(unseen_abi::options::RUSTC.name));
    let found = named.map(std::path::PathBuf::from).or_else(|| context::on_path("rustc", env));
    let path = found.unwrap_or_else(|| "rustc".into());
    let advice =
        format!("install a stable Rust toolchain with LLVM {LLVM_MAJOR} or older, or set UNSEEN_RUSTC to its rustc");
    match version(&path, &["-vV"]) {
        Ok(text) => {
            let release = text.lines().find_map(|l| l.strip_prefix("release: ")).unwrap_or("unknown");
            let found = |llvm: &str| format!("{release} with LLVM {llvm}, {}", path.display());
            match rustc::llvm_of(&text) {
                Some(major) if major <= LLVM_MAJOR => Check::fine("rustc", found(&major.to_string())),
                Some(major) => Check::wrong("rustc", found(&major.to_string()), &advice),
                None => Check::wrong("rustc", found("of unknown version"), &advice),
            }
        }
        Err(why) => Check::wrong("rustc", why, &advice),
    }
}

fn cargo() -> Check {
    match version(Path::new("cargo"), &["--version"]) {
        Ok(text) => Check::fine("cargo", text.trim().trim_start_matches("cargo ").to_owned()),
        Err(why) => Check::wrong("cargo", why, "install a stable Rust toolchain"),
    }
}

fn text(checks: &[Check]) -> String {
    let width = checks.iter().map(|c| c.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for check in checks {
        let state = if check.advice.is_none() { "ok   " } else { "WRONG" };
        out.push_str(&format!("{state} {:width$}  {}\n", check.name, check.found));
        if let Some(advice) = &check.advice {
            out.push_str(&format!("      {:width$}  -> {advice}\n", ""));
        }
    }
    out
}

fn json(checks: &[Check], healthy: bool) -> serde_json::Value {
    let list: Vec<_> = checks
        .iter()
        .map(|c| serde_json::json!({ "name": c.name, "ok": c.advice.is_none(), "found": c.found, "advice": c.advice }))
        .collect();
    serde_json::json!({ "version": 1, "ok": healthy, "checks": list })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_tools_print() {
        assert_eq!(number("Debian clang version 22.1.8 (1~deb12u1)\nTarget: x"), "22.1.8");
        assert_eq!(number("Debian LLD 22.1.8 (compatible with GNU linkers)"), "22.1.8");
        assert!(has_major("LLVM version 22.1.8") && !has_major("LLVM version 15.0.7") && !has_major("?"));
    }

    #[test]
    fn what_is_wrong_comes_with_advice() {
        let checks = [Check::fine("a", "1.0".into()), Check::wrong("long", "missing".into(), "install it")];
        assert_eq!(text(&checks), "ok    a     1.0\nWRONG long  missing\n            -> install it\n");
        assert_eq!(json(&checks, false)["checks"][1]["advice"], "install it");
    }
}
