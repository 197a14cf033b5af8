//! `unseen.toml` and the `UNSEEN_*` build options: flags beat the environment, the environment beats the file.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use globset::Glob;
use unseen_abi::mechanism::{Mechanism, Mechanisms, NO_CHOICE};
use unseen_abi::options;

use crate::command::Failure;
use crate::environment;

/// Name of the file, looked for in the working directory and its parents.
pub const FILE: &str = "unseen.toml";

/// What is built in, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Build {
    /// What to instrument.
    pub mechanisms: Mechanisms,
    /// Whether anybody has said so. Else what a program has in it adds to that.
    pub is_chosen: bool,
    /// Globs of source paths that are left alone.
    pub exclude: Vec<String>,
    /// Whether the language's own library is instrumented too.
    pub std: bool,
    /// Whether the pass sees the whole program at once.
    pub lto: bool,
    /// How much the link optimises, instead of what the command line says.
    pub level: Option<char>,
}

impl Default for Build {
    fn default() -> Build {
        Build {
            mechanisms: Mechanisms::DEFAULT,
            is_chosen: false,
            exclude: Vec::new(),
            std: false,
            lto: true,
            level: None,
        }
    }
}

impl Build {
    /// From the nearest file above `dir` and these variables.
    pub fn resolve(dir: &Path, env: &HashMap<OsString, OsString>) -> Result<Build, Failure> {
        environment::refuse_typos(env)?;
        let mut build = Build::default();
        if let Some(path) = dir.ancestors().map(|d| d.join(FILE)).find(|p| p.is_file()) {
            build.read_file(&path)?;
        }
        let text = |option| environment::get(env, option);
        let checked = |option| environment::checked(env, option);
        if let Some(list) = text(&options::BUILD) {
            build.choose(&list, options::BUILD.name)?;
        }
        if let Some(list) = text(&options::EXCLUDE) {
            build.exclude = options::patterns(&list).map(str::to_owned).collect();
            check_patterns(&build.exclude, options::EXCLUDE.name)?;
        }
        if let Some(list) = text(&options::WATCH) {
            check_patterns(options::patterns(&list), options::WATCH.name)?;
        }
        if let Some(value) = checked(&options::STD)? {
            build.std = value == "on";
        }
        if let Some(value) = checked(&options::LTO)? {
            build.lto = value == "on";
        }
        if let Some(value) = checked(&options::LINK_LEVEL)? {
            build.level = level(&value);
        }
        // Who reads these asks no more than whether they are set.
        checked(&options::LINKER)?;
        checked(&options::LOG)?;
        Ok(build)
    }

    /// Takes a list of mechanisms that stands at `place`.
    pub fn choose(&mut self, list: &str, place: &str) -> Result<(), Failure> {
        self.is_chosen = list != NO_CHOICE;
        self.mechanisms = if self.is_chosen { mechanisms(list, place)? } else { Mechanisms::DEFAULT };
        Ok(())
    }

    fn read_file(&mut self, path: &Path) -> Result<(), Failure> {
        let at = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|e| Failure::environment(format!("{at}: {e}")).next("make the file readable, or remove it"))?;
        let table: toml::Table =
            text.parse().map_err(|e| Failure::usage(format!("{at}: {e}")).next("correct the file"))?;
        for (name, value) in &table {
            if name != "build" {
                return Err(unknown("table", name, &["build"], path));
            }
            let build = value.as_table().ok_or_else(|| wrong(path, "build", "a table"))?;
            for (key, value) in build {
                self.set(key, value, path)?;
            }
        }
        Ok(())
    }

    fn set(&mut self, key: &str, value: &toml::Value, path: &Path) -> Result<(), Failure> {
        let words = || {
            let list = value.as_array().and_then(|a| a.iter().map(|v| v.as_str().map(str::to_owned)).collect());
            list.ok_or_else(|| wrong(path, &format!("build.{key}"), "a list of strings"))
        };
        match key {
            "mechanisms" => {
                let list: Vec<String> = words()?;
                let list = if list.is_empty() { "none".into() } else { list.join(",") };
                self.choose(&list, &path.display().to_string())?;
            }
            "exclude" => {
                self.exclude = words()?;
                check_patterns(&self.exclude, &format!("{}: build.exclude", path.display()))?;
            }
            "std" => self.std = value.as_bool().ok_or_else(|| wrong(path, "build.std", "true or false"))?,
            "level" => {
                let found = value.as_str().and_then(level);
                self.level =
                    Some(found.ok_or_else(|| {
                        wrong(path, "build.level", "one of \"0\", \"1\", \"2\", \"3\", \"s\", \"z\"")
                    })?);
            }
            _ => return Err(unknown("key", key, &["mechanisms", "exclude", "std", "level"], path)),
        }
        Ok(())
    }

    /// The variables by which the pass learns of all this. They stand for the whole resolution: a tool that is
    /// started with them need not look for a file again.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let on = |b: bool| if b { "on" } else { "off" }.to_owned();
        let names: Vec<_> = self.mechanisms.iter().map(Mechanism::name).collect();
        let list = match names.is_empty() {
            _ if !self.is_chosen => NO_CHOICE.to_owned(),
            true => "none".to_owned(),
            false => names.join(","),
        };
        let mut variables = vec![
            (options::BUILD.name, list),
            (options::EXCLUDE.name, self.exclude.join(",")),
            (options::STD.name, on(self.std)),
        ];
        variables.extend(self.level.map(|level| (options::LINK_LEVEL.name, level.to_string())));
        variables
    }
}

fn mechanisms(list: &str, place: &str) -> Result<Mechanisms, Failure> {
    let words: Vec<&str> = list.split(',').map(str::trim).filter(|w| !w.is_empty()).collect();
    if words.is_empty() {
        return Err(Failure::usage(format!("{place} names no mechanism")).next("name cover, for example, or none"));
    }
    if words.len() > 1 && words.contains(&"none") {
        return Err(Failure::usage(format!("{place} names mechanisms and none")).next("drop one or the other"));
    }
    Mechanisms::parse(list).map_err(|unknown| {
        let known: Vec<_> = Mechanism::ALL.into_iter().map(Mechanism::name).collect();
        Failure::usage(format!("{place}: no mechanism is called '{unknown}'{}", nearest(unknown, &known)))
            .next(format!("the mechanisms are: {}; none turns all of them off", known.join(", ")))
    })
}

/// Each is a pattern by itself, also in the list that the pass gets.
fn check_patterns(patterns: impl IntoIterator<Item = impl AsRef<str>>, place: &str) -> Result<(), Failure> {
    for pattern in patterns {
        let pattern = pattern.as_ref();
        let bad = |why: String| {
            Failure::usage(format!("{place}: bad pattern `{pattern}`: {why}"))
                .next("correct it; a backslash or brackets take a character as it is: [[] is [")
        };
        Glob::new(pattern).map_err(|e| bad(e.kind().to_string()))?;
        if options::patterns(pattern).count() > 1 {
            return Err(bad("a comma outside of braces parts patterns: write [,]".into()));
        }
    }
    Ok(())
}

/// A level of optimisation, as `-O` has it.
fn level(value: &str) -> Option<char> {
    let mut letters = value.chars();
    letters.next().filter(|l| "0123sz".contains(*l) && letters.next().is_none())
}

fn unknown(what: &str, name: &str, known: &[&str], path: &Path) -> Failure {
    Failure::usage(format!("{}: unknown {what} '{name}'{}", path.display(), nearest(name, known)))
        .next(format!("known are: {}", known.join(", ")))
}

fn wrong(path: &Path, key: &str, wanted: &str) -> Failure {
    Failure::usage(format!("{}: '{key}' must be {wanted}", path.display())).next("correct the file")
}

/// `, did you mean 'x'?`, if something is near enough.
pub fn nearest(name: &str, known: &[&str]) -> String {
    let best = known.iter().map(|k| (strsim::jaro_winkler(name, k), k)).max_by(|a, b| a.0.total_cmp(&b.0));
    match best {
        Some((score, known)) if score > 0.7 => format!(", did you mean '{known}'?"),
        _ => String::new(),
    }
}

/// The environment of this process.
pub fn environment() -> HashMap<OsString, OsString> {
    std::env::vars_os().collect()
}

/// The working directory, or `.` where it is gone.
pub fn working_directory() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(file: &str, env: &[(&str, &str)]) -> Result<Build, Failure> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE), file).unwrap();
        let below = dir.path().join("a/b");
        std::fs::create_dir_all(&below).unwrap();
        Build::resolve(&below, &env.iter().map(|(k, v)| (k.into(), v.into())).collect())
    }

    #[test]
    fn the_environment_beats_the_nearest_file() {
        let file = "[build]\nmechanisms = []\nexclude = ['a/*', 'b']\nstd = true\n";
        let build = resolve(file, &[]).unwrap();
        assert_eq!((build.mechanisms, build.std, build.exclude.len()), (Mechanisms::default(), true, 2));
        let build =
            resolve(file, &[("UNSEEN_BUILD", "cover"), ("UNSEEN_STD", "off"), ("UNSEEN_EXCLUDE", "c,")]).unwrap();
        assert_eq!(build, Build { is_chosen: true, exclude: vec!["c".into()], ..Build::default() });
        let build = resolve(file, &[("UNSEEN_BUILD", "default")]).unwrap();
        assert_eq!((build.mechanisms, build.is_chosen), (Mechanisms::DEFAULT, false));
        assert!(build.variables().contains(&("UNSEEN_BUILD", "default".into())));
        let level = |env: &[(&str, &str)]| resolve("[build]\nlevel = 's'\n", env).unwrap().level;
        assert_eq!((level(&[]), level(&[("UNSEEN_LINK_LEVEL", "0")])), (Some('s'), Some('0')));
    }

    #[test]
    fn mistakes_are_named_with_the_nearest_known_word() {
        let text = |r: Result<Build, Failure>| r.unwrap_err().to_string();
        assert!(text(resolve("[build]\nmechanism = []", &[])).contains("did you mean 'mechanisms'?"));
        assert!(text(resolve("[bild]", &[])).contains("did you mean 'build'?"));
        assert!(text(resolve("[build]\nmechanisms = ['covr']", &[])).contains("did you mean 'cover'?"));
        assert!(text(resolve("[build]\nstd = 3", &[])).contains("true or false"));
        assert!(text(resolve("[build]\nlevel = '4'", &[])).contains("'build.level' must be one of"));
        assert!(text(resolve("", &[("UNSEEN_LINK_LEVEL", "22")])).contains("UNSEEN_LINK_LEVEL is '22'"));
        assert!(text(resolve("[build", &[])).contains("unseen.toml"));
        assert!(text(resolve("", &[("UNSEEN_STD", "yes")])).contains("UNSEEN_STD is 'yes'"));
        assert!(
            text(resolve("", &[("UNSEEN_LINKER", "gold")]))
                .contains("UNSEEN_LINKER is 'gold' (set UNSEEN_LINKER to lld")
        );
        assert!(text(resolve("", &[("UNSEEN_LOG", "x")])).contains("UNSEEN_LOG is 'x'"));
        assert!(text(resolve("", &[("UNSEEN_BUILD", "")])).contains("UNSEEN_BUILD names no mechanism"));
        assert!(text(resolve("", &[("UNSEEN_BUILD", "cover,none")])).contains("mechanisms and none"));
        assert!(text(resolve("", &[("UNSEEN_BUIL", "x")])).contains("did you mean UNSEEN_BUILD?"));
    }

    #[test]
    fn bad_patterns_are_named_with_where_they_stand() {
        let text = |r: Result<Build, Failure>| r.unwrap_err().to_string();
        assert!(
            text(resolve("[build]\nexclude = ['a', 'b[c']", &[]))
                .contains("unseen.toml: build.exclude: bad pattern `b[c`")
        );
        assert!(text(resolve("[build]\nexclude = ['a,b']", &[])).contains("write [,]"));
        assert!(text(resolve("", &[("UNSEEN_EXCLUDE", "a,b[c")])).contains("UNSEEN_EXCLUDE: bad pattern `b[c`"));
        assert!(text(resolve("", &[("UNSEEN_WATCH", "{")])).contains("UNSEEN_WATCH: bad pattern `{`"));
        let build = resolve("[build]\nexclude = ['{a,b}.c', 'c[,]d']", &[]).unwrap();
        assert_eq!(build.variables()[1].1, "{a,b}.c,c[,]d");
    }
}
