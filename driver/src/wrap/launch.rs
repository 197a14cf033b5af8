//! Carries plans out. The compiler's standard output, standard error, exit code and death by signal become ours; where
//! nothing is left to do afterwards, the compiler takes our place in the process.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};

use object::{Object as _, ObjectSection as _};
use unseen_abi::{options, sections};

use super::Outcome;
use crate::command::Failure;

/// What is to be done for a command line, as plain data.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What becomes of it.
    pub outcome: Outcome,
    /// The real compiler.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables that are set for it.
    pub env: Vec<(&'static str, String)>,
    /// Files that are written before it runs.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// What is done when it has succeeded.
    pub after: Vec<After>,
    /// The plugin must be there and fit.
    pub loads_plugin: bool,
    /// The runtime must be there and fit.
    pub links_runtime: bool,
    /// Where the next addition goes.
    end: usize,
}

/// A step after success.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum After {
    /// Writes into a native object why it was not instrumented.
    MarkDeclined {
        /// The object.
        file: PathBuf,
        /// `source: reason`
        text: String,
    },
    /// The pass must have left its manifest in the output.
    RequireManifest {
        /// The linked file.
        file: PathBuf,
    },
    /// Takes the archive members that were not extracted out of the list of inputs.
    KeepExtracted {
        /// The linked file.
        file: PathBuf,
        /// What the linker says it extracted, and why.
        report: PathBuf,
    },
}

impl Plan {
    /// Runs a program with these arguments; additions go to `end`.
    pub fn unchanged(program: PathBuf, args: Vec<OsString>, end: usize) -> Plan {
        Plan {
            outcome: Outcome::NotACompile("unchanged"),
            program,
            args,
            env: Vec::new(),
            files: Vec::new(),
            after: Vec::new(),
            loads_plugin: false,
            links_runtime: false,
            end,
        }
    }

    /// Adds arguments behind the user's, but before `--`.
    pub fn add<T: Into<OsString>>(&mut self, args: impl IntoIterator<Item = T>) {
        let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
        let count = args.len();
        self.args.splice(self.end..self.end, args);
        self.end += count;
    }

    /// Takes an argument of the user's away, wherever it stands before `--`.
    pub fn remove(&mut self, arg: &str) {
        let after = self.args.split_off(self.end);
        self.args.retain(|a| a != arg);
        self.end = self.args.len();
        self.args.extend(after);
    }

    /// Adds arguments before the user's.
    pub fn add_first<T: Into<OsString>>(&mut self, args: impl IntoIterator<Item = T>) {
        let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
        self.end += args.len();
        self.args.splice(0..0, args);
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args).envs(self.env.iter().map(|(k, v)| (k, v)));
        command
    }

    /// Does it all. Where nothing is left to do afterwards, the compiler takes our place.
    pub fn carry_out(self, tool: &str, env: &HashMap<OsString, OsString>) -> Result<ExitCode, Failure> {
        if self.after.is_empty() && self.files.is_empty() {
            self.log(tool, env);
            return Err(not_started(&self.program, &self.command().exec()));
        }
        self.attempt(tool, env).map(leave_as)
    }

    /// The same, but comes back with how the compiler ended.
    pub fn attempt(&self, tool: &str, env: &HashMap<OsString, OsString>) -> Result<ExitStatus, Failure> {
        self.log(tool, env);
        for (path, data) in &self.files {
            std::fs::write(path, data).map_err(|e| temporary(path, &e))?;
        }
        let status = wait(&mut self.command()).map_err(|e| not_started(&self.program, &e))?;
        if status.success() {
            for step in &self.after {
                step.run(tool, &self.program)?;
            }
        }
        Ok(status)
    }

    fn log(&self, tool: &str, env: &HashMap<OsString, OsString>) {
        if logs(env) {
            eprintln!("{tool}: {}", self.outcome);
            eprintln!("{tool}: runs {}", shown(self));
        }
    }
}

impl After {
    fn run(&self, tool: &str, compiler: &Path) -> Result<(), Failure> {
        match self {
            After::MarkDeclined { file, text } => {
                if let Err(why) = mark(file, text, compiler) {
                    // The compiler's work is done and good; only our remark about it is lost, and not silently.
                    eprintln!("{tool}: warning: {}: can't note '{text}': {why}", file.display());
                }
                Ok(())
            }
            After::RequireManifest { file } => require_manifest(file),
            After::KeepExtracted { file, report } => {
                if let Err(why) = super::link::keep_extracted(file, report) {
                    eprintln!("{tool}: warning: {}: the list of inputs names whole archives: {why}", file.display());
                }
                Ok(())
            }
        }
    }
}

/// A directory for what only this command needs; removed when dropped.
pub fn scratch() -> Result<tempfile::TempDir, Failure> {
    tempfile::Builder::new().prefix("unseen-").tempdir().map_err(|e| temporary(&std::env::temp_dir(), &e))
}

fn temporary(path: &Path, error: &std::io::Error) -> Failure {
    Failure::environment(format!("can't write {}: {error}", path.display()))
        .next("make room there, or set TMPDIR to a directory that can be written")
}

fn not_started(program: &Path, error: &std::io::Error) -> Failure {
    let failure = Failure::environment(format!("can't run {}: {error}", program.display()));
    match error.raw_os_error() {
        Some(libc::E2BIG) => {
            failure.next("the command line is too long: pass the arguments in a response file (@file)")
        }
        _ => failure.next("run `unseen doctor`"),
    }
}

/// Whether decisions are printed.
pub fn logs(env: &HashMap<OsString, OsString>) -> bool {
    env.get(OsStr::new(options::LOG.name)).is_some_and(|v| v == "on")
}

/// The command as it could be typed.
fn shown(plan: &Plan) -> String {
    let mut words: Vec<String> = plan.env.iter().map(|(k, v)| format!("{k}={}", quoted(v))).collect();
    words.push(quoted(&plan.program.to_string_lossy()));
    words.extend(plan.args.iter().map(|a| quoted(&a.to_string_lossy())));
    words.join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+,./:@%^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The compiler we wait for, so that a signal to us alone reaches it too.
static CHILD: AtomicI32 = AtomicI32::new(0);

extern "C" fn pass_on(signal: libc::c_int) {
    let child = CHILD.load(Ordering::Relaxed);
    if child > 0 {
        // SAFETY: kill is async-signal-safe; the child is not reaped before CHILD is cleared.
        unsafe { libc::kill(child, signal) };
    }
}

/// Runs a command to its end. Signals that would end us end it instead, so that we can clean up behind it.
pub fn wait(command: &mut Command) -> std::io::Result<ExitStatus> {
    let mut child = command.spawn()?;
    CHILD.store(child.id() as i32, Ordering::Relaxed);
    let handler = pass_on as extern "C" fn(libc::c_int);
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: the handler only reads an atomic and calls kill. A signal that is ignored stays ignored.
        unsafe {
            if libc::signal(signal, handler as libc::sighandler_t) == libc::SIG_IGN {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
    }
    let status = child.wait();
    CHILD.store(0, Ordering::Relaxed);
    status
}

/// Our end is the compiler's: its exit code, or death by the same signal.
pub fn leave_as(status: ExitStatus) -> ExitCode {
    if let Some(signal) = status.signal() {
        // SAFETY: resets the signal's action and sends it to ourselves. No core: it would be ours, not the compiler's.
        unsafe {
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &none);
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
    ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1))
}

/// Adds the section of declined steps to a native file, replacing it whole.
fn mark(file: &Path, text: &str, compiler: &Path) -> Result<(), String> {
    let text_of = |e: std::io::Error| e.to_string();
    let regular = std::fs::metadata(file).is_ok_and(|m| m.is_file());
    if !regular || !std::fs::read(file).map_err(text_of)?.starts_with(&object::elf::ELFMAG) {
        return Ok(());
    }
    let mut note = tempfile::NamedTempFile::new().map_err(text_of)?;
    std::io::Write::write_all(&mut note, format!("{text}\0").as_bytes()).map_err(text_of)?;
    let mut section = OsString::from(format!("{}=", sections::DECLINED));
    section.push(note.path());
    let objcopy = compiler.with_file_name("llvm-objcopy");
    let out = Command::new(objcopy).arg("--add-section").arg(section).arg(file).output().map_err(text_of)?;
    if out.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&out.stderr).trim().to_owned()) }
}

/// A binary the pass never saw must not leave the build.
fn require_manifest(file: &Path) -> Result<(), Failure> {
    if !std::fs::metadata(file).is_ok_and(|m| m.is_file()) {
        return Ok(());
    }
    let data = std::fs::read(file).map_err(|e| Failure::environment(format!("{}: {e}", file.display())))?;
    // Raw images (--oformat=binary) have no sections to look at.
    let Ok(parsed) = object::File::parse(&*data) else { return Ok(()) };
    if parsed.sections().any(|s| s.name() == Ok(sections::MANIFEST)) {
        return Ok(());
    }
    let removed = std::fs::remove_file(file);
    let state = if removed.is_ok() { "it was removed" } else { "do not use it" };
    Err(Failure::environment(format!(
        "{}: bitcode was linked, but the pass did not run ({} is missing); {state}",
        file.display(),
        sections::MANIFEST
    ))
    .next("look for a linker flag that turns link-time optimisation off or replaces the pass; UNSEEN_LOG=on shows the link"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn additions_stay_before_the_double_dash() {
        let mut plan = Plan::unchanged("x".into(), vec!["-c".into(), "--".into(), "a.c".into()], 1);
        plan.add(["-1"]);
        plan.add_first(["-0"]);
        plan.add(["-2", "-3"]);
        assert_eq!(plan.args, ["-0", "-c", "-1", "-2", "-3", "--", "a.c"]);
    }

    #[test]
    fn commands_are_shown_as_they_could_be_typed() {
        assert_eq!(quoted("-DX=\"a b\""), "'-DX=\"a b\"'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted("-Wl,-rpath=/x"), "-Wl,-rpath=/x");
    }
}
