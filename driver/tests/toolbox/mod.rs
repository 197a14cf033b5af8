//! What tests of the built tools share: where the tools are, a place to work, and processes with a clean environment.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object as _, ObjectSection as _};

/// The directory of the release build: the tools only work together.
pub fn tools() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |t| root.join(t));
    let tools = target.join("release");
    for file in ["unseen", "unseen-clang", "libunseen_pass.so", "libunseen_rt.a"] {
        assert!(tools.join(file).exists(), "{} is missing: run scripts/build first", tools.join(file).display());
    }
    tools
}

/// What became of a process.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// It must have succeeded.
    #[track_caller]
    pub fn fine(self) -> Ran {
        assert_eq!(self.code, Some(0), "{}\n{}", self.stdout, self.stderr);
        self
    }

    /// It must have failed with this code and said each of these.
    #[track_caller]
    pub fn failed(self, code: i32, said: &[&str]) -> Ran {
        assert_eq!(self.code, Some(code), "{}\n{}", self.stdout, self.stderr);
        for text in said {
            assert!(self.stderr.contains(text), "{text:?} is not in:\n{}", self.stderr);
        }
        self
    }
}

/// A directory to work in.
pub struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Place {
        Place { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A command in this place, without what the caller's environment says to us.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.dir.path());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("UNSEEN")
                || text.starts_with("CARGO_")
                || text.starts_with("RUST") && text != "RUSTUP_HOME"
            {
                command.env_remove(&name);
            }
        }
        for name in ["CFLAGS", "CXXFLAGS", "LDFLAGS", "CC", "CXX", "MAKEFLAGS"] {
            command.env_remove(name);
        }
        let mut path = tools().into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        command.env("PATH", path);
        command
    }

    /// Runs a line of words; the first is the program.
    pub fn run(&self, line: &str) -> Ran {
        self.run_with(line, &[])
    }

    /// The same with variables.
    pub fn run_with(&self, line: &str, env: &[(&str, &str)]) -> Ran {
        let words: Vec<&str> = line.split_whitespace().collect();
        // A program with a path is of this place.
        let program = if words[0].contains('/') { self.path(words[0]) } else { words[0].into() };
        let mut command = self.command(program);
        finish(command.args(&words[1..]).envs(env.iter().copied()))
    }

    /// Runs a shell script.
    pub fn shell(&self, script: &str) -> Ran {
        finish(self.command("sh").args(["-ec", script]))
    }

    /// The text of a section of a file, NULs as line ends; empty if it has none.
    pub fn section(&self, file: &str, name: &str) -> String {
        let data = std::fs::read(self.path(file)).unwrap();
        let parsed = object::File::parse(&*data).unwrap();
        let Some(section) = parsed.section_by_name(name) else { return String::new() };
        let text = String::from_utf8_lossy(section.data().unwrap()).replace('\0', "\n");
        text.lines().filter(|l| !l.is_empty()).map(|l| format!("{l}\n")).collect()
    }

    /// Whether the pass has seen a linked file.
    pub fn instrumented(&self, file: &str) -> bool {
        !self.section(file, ".unseen.manifest").is_empty()
    }

    /// What `unseen manifest` says of a function: `cover`, `standard library`, ...
    pub fn function(&self, file: &str, name: &str) -> Option<String> {
        let out = self.run(&format!("unseen manifest {file}")).fine().stdout;
        let line = out.lines().find(|l| l.trim_end().ends_with(&format!(" {name}")))?;
        Some(line.split("  ").next()?.trim().to_owned())
    }
}

fn finish(command: &mut Command) -> Ran {
    let out = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let text = |b: Vec<u8>| String::from_utf8_lossy(&b).into_owned();
    Ran { code: out.status.code(), stdout: text(out.stdout), stderr: text(out.stderr) }
}
