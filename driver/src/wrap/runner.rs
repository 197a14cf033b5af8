//! Between cargo and the programs it runs: our compilers are for the build, so programs and tests get the environment
//! that the user had. A test that compiles C or calls cargo itself then gets what it would get without us.
//!
//! `cargo unseen` writes down what it changes ([`remember`]) and names itself to cargo as the runner of programs, unless the
//! user has one: cargo knows only one, and does not say on stable which.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The first argument of `cargo-unseen` if it is to run a program.
pub const FLAG: &str = "--exec";
/// Internal: the variables that were changed, as a JSON object with their values before, or null.
pub const BEFORE: &str = "UNSEEN_BEFORE";

/// What programs need to get their environment back after these variables were changed.
pub fn remember<'a>(
    changed: impl Iterator<Item = &'a OsStr>,
    env: &HashMap<OsString, OsString>,
) -> (&'static str, OsString) {
    let text = |s: &OsString| s.to_str().map(str::to_owned);
    let before: BTreeMap<_, _> =
        changed.filter_map(|name| Some((name.to_str()?, env.get(name).and_then(text)))).collect();
    (BEFORE, serde_json::to_string(&before).expect("plain data").into())
}

/// Runs a program in cargo's stead: the words are the program and its arguments.
pub fn main(words: &[OsString]) -> ExitCode {
    let Some((program, arguments)) = words.split_first() else {
        eprintln!("cargo-unseen: error: {FLAG} needs a program");
        return ExitCode::from(2);
    };
    let mut command = Command::new(program);
    command.args(arguments).env_remove(BEFORE);
    let before = std::env::var(BEFORE).unwrap_or_default();
    let before: BTreeMap<String, Option<String>> = serde_json::from_str(&before).unwrap_or_default();
    for (name, value) in before {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let error = command.exec();
    eprintln!("cargo-unseen: error: can't run {}: {error}", Path::new(program).display());
    ExitCode::from(if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 })
}

/// Whether the user has told cargo how to run programs, or may have: by a variable, an argument or a file.
pub fn is_taken<'a>(
    env: &HashMap<OsString, OsString>,
    mut settings: impl Iterator<Item = &'a OsString>,
    here: &Path,
) -> bool {
    let by_variable =
        env.keys().filter_map(|n| n.to_str()).any(|n| n.starts_with("CARGO_TARGET_") && n.ends_with("_RUNNER"));
    // An argument is a setting or names a file of them.
    let by_argument = settings.any(|s| {
        let text = s.to_string_lossy();
        text.contains("runner") || names_one(Path::new(s))
    });
    let home = env.get(OsStr::new("CARGO_HOME")).map(|h| here.join(h));
    let home = home.or_else(|| Some(Path::new(env.get(OsStr::new("HOME"))?).join(".cargo")));
    let directories = here.ancestors().map(|d| d.join(".cargo")).chain(home);
    by_variable
        || by_argument
        || directories.flat_map(|d| [d.join("config.toml"), d.join("config")]).any(|f| names_one(&f))
}

/// Whether a file of cargo's settings names a runner, or can't be understood. Files that it includes may.
fn names_one(file: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(file) else { return false };
    let Ok(table) = text.parse::<toml::Table>() else { return true };
    let targets = table.get("target").and_then(|t| t.as_table());
    table.contains_key("include") || targets.is_some_and(|t| t.values().any(|v| v.get("runner").is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> HashMap<OsString, OsString> {
        pairs.iter().map(|(k, v)| (k.into(), v.into())).collect()
    }

    #[test]
    fn what_was_set_and_what_was_not_is_written_down() {
        let env = map(&[("CC", "gcc"), ("OTHER", "x")]);
        let (name, text) = remember(["CC", "AR"].map(OsStr::new).into_iter(), &env);
        assert_eq!((name, text.to_str().unwrap()), (BEFORE, r#"{"AR":null,"CC":"gcc"}"#));
    }

    #[test]
    fn a_runner_of_the_users_is_found_wherever_it_is_named() {
        let place = tempfile::tempdir().unwrap();
        let here = place.path().join("a/b");
        std::fs::create_dir_all(place.path().join("a/.cargo")).unwrap();
        let home = place.path().join("home").to_str().unwrap().to_owned();
        let taken = |pairs: &[(&str, &str)], arguments: &[&str]| {
            let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            let mut env = map(pairs);
            env.insert("CARGO_HOME".into(), home.clone().into());
            is_taken(&env, arguments.iter(), &here)
        };
        assert!(!taken(&[], &["build.jobs=1"]));
        assert!(taken(&[("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", "x")], &[]));
        assert!(taken(&[], &["target.x.runner='y'"]));
        for (text, expected) in [
            ("[build]\njobs = 1\n[target.x]\nlinker = 'y'", false),
            ("[target.x]\nrunner = 'y'", true),
            ("[target.'cfg(unix)']\nrunner = ['y', 'z']", true),
            ("include = 'other.toml'", true),
            ("not toml", true),
        ] {
            std::fs::write(place.path().join("a/.cargo/config.toml"), text).unwrap();
            assert_eq!(taken(&[], &[]), expected, "{text}");
        }
    }
}
