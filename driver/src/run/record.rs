//! What a program left in its run: modules, processes, and if nothing, why.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use unseen_abi::event::Kind;
use unseen_abi::options;
use unseen_abi::state::{self, Tally};

use super::NewRun;
use crate::store::manifests::{self, ExtractError, Finder};
use crate::store::{attached, counters, events, pack, tallies};

/// What was recorded in a run.
#[derive(Debug, Default)]
pub struct Record {
    pub processes: usize,
    /// Binaries whose modules were recorded.
    pub binaries: BTreeSet<PathBuf>,
    /// What the runtime could not record, with how often.
    pub dropped: BTreeMap<String, usize>,
    /// What went wrong on our side.
    pub warnings: Vec<String>,
}

/// Waits for attached tests that are still under way when their program has ended. Returns whether all are over.
fn wait_for_tests(run: &Path) -> bool {
    const LONGEST: Duration = Duration::from_secs(15);
    let begin = Instant::now();
    loop {
        let (files, _) = tallies::read(run, &state::FILE);
        let sum = |tally: Tally| -> u64 { files.iter().flat_map(|f| &f.units).map(|t| t[tally as usize]).sum() };
        if sum(Tally::Started) <= Tally::OVER.map(sum).iter().sum() {
            return true;
        }
        if begin.elapsed() > LONGEST {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Looks at a run after its program ended, and takes the manifests of all modules it used over into the store: a
/// report must work after the next build. Packs the counter files if there are many.
pub fn finish(new: &NewRun) -> Record {
    let is_over = wait_for_tests(&new.run.directory);
    let (files, problems) = counters::headers(&new.run);
    let (tested, _) = tallies::read(&new.run.directory, &state::FILE);
    let log = events::read(&new.run.directory);
    let pids = files.iter().map(|f| f.pid).chain(tested.iter().map(|t| t.pid));
    let mut record = Record {
        processes: pids.collect::<BTreeSet<_>>().len(),
        warnings: problems.iter().chain(&log.problem).map(ToString::to_string).collect(),
        ..Record::default()
    };
    if !is_over {
        record.warnings.push("attached tests are still under way: `unseen tests` shows those that are over".into());
    }
    let mut finder = Finder::new(&new.store);
    let mut seen = BTreeSet::new();
    for file in &files {
        record.binaries.insert(file.binary.clone());
        if seen.insert(file.id)
            && let Err(e) = finder.keep(file.id, &file.binary)
        {
            record.warnings.push(format!("cannot keep a manifest: {e}"));
        }
    }
    let mut kept = BTreeSet::new();
    for file in &tested {
        if kept.insert(file.id)
            && let Err(e) = attached::keep(&mut finder, file.id, &file.binary)
        {
            record.warnings.push(format!("cannot keep a list of tests: {e}"));
        }
    }
    for event in log.events.iter().filter(|e| e.kind == Kind::Dropped) {
        let [what, why] = [2, 3].map(|i| event.fields.get(i).map_or("", String::as_str));
        *record.dropped.entry(format!("{what}: {}", reason(why))).or_default() += 1;
    }
    if let Err(e) = pack::pack(&new.run) {
        record.warnings.push(format!("cannot pack the counter files in {}: {e}", new.run.directory.display()));
    }
    record
}

/// `errno 28` in words.
fn reason(why: &str) -> String {
    match why.strip_prefix("errno ").and_then(|n| n.parse().ok()) {
        Some(number) => std::io::Error::from_raw_os_error(number).to_string(),
        None => why.to_owned(),
    }
}

/// Why nothing was recorded.
#[derive(Debug, PartialEq, Eq)]
pub enum Silence {
    /// The user turned recording off, with this variable.
    Off(&'static str),
    /// The program has no instrumentation.
    NotInstrumented(PathBuf),
    /// A script: what it ran has none.
    Script(PathBuf),
    /// It is instrumented. The runtime found no way to record, or the program died before it could.
    Unknown(PathBuf),
    /// We don't know which file was run.
    NotFound,
}

/// Finds out why a program left no record.
pub fn silence(program: &OsStr) -> Silence {
    let off = |name| std::env::var(name).is_ok_and(|v| v == "off");
    if let Some(option) = [options::UNSEEN, options::COVER].iter().find(|o| off(o.name)) {
        return Silence::Off(option.name);
    }
    let Some(path) = locate(program) else { return Silence::NotFound };
    match manifests::extract(&path) {
        Ok(_) | Err(ExtractError::Bad(..)) => Silence::Unknown(path),
        Err(ExtractError::NotElf(_)) => Silence::Script(path),
        Err(ExtractError::None(_)) => Silence::NotInstrumented(path),
        Err(ExtractError::Unreadable(..)) => Silence::NotFound,
    }
}

/// The file that `execvp` would run.
pub fn locate(program: &OsStr) -> Option<PathBuf> {
    let executable = |p: &Path| p.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    if program.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(program)).filter(|p| executable(p));
    }
    std::env::split_paths(&std::env::var_os("PATH")?).map(|d| d.join(program)).find(|p| executable(p))
}
