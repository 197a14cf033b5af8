//! The runs of a store: make a new one, list them, find the latest.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use unseen_abi::event::Kind;

use super::events;
use super::layout::{Store, StoreError};
use crate::calendar;

/// One run: a directory that several processes may write to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub name: OsString,
    pub directory: PathBuf,
}

impl Run {
    /// When something last began in this run: a program, or without `unseen run` a process.
    pub fn last_start(&self) -> u64 {
        let log = events::read(&self.directory);
        let last = |kind| log.events.iter().filter(|e| e.kind == kind).filter_map(events::Event::time).max();
        let modified = || {
            let time = fs::metadata(&self.directory).and_then(|m| m.modified()).ok()?;
            Some(time.duration_since(UNIX_EPOCH).ok()?.as_nanos() as u64)
        };
        last(Kind::RunStart).max(last(Kind::Module)).or_else(modified).unwrap_or(0)
    }
}

/// Makes a run named by the time, such that names sort by time and no two are the same.
pub fn create(store: &Store) -> Result<Run, StoreError> {
    let stem = format!("{}-{}", calendar::compact(events::now()), std::process::id());
    let candidates = std::iter::once(stem.clone()).chain((2..).map(|n| format!("{stem}-{n}")));
    for name in candidates {
        let directory = store.run(OsStr::new(&name));
        match fs::create_dir(&directory) {
            Ok(()) => return Ok(Run { name: name.into(), directory }),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(StoreError::Unwritable(directory, e)),
        }
    }
    unreachable!("the candidates never end")
}

/// The run of this name, made if it isn't there: several commands may add to one run.
pub fn create_named(store: &Store, name: &str) -> Result<Run, StoreError> {
    if !is_name(name) {
        return Err(StoreError::Name(name.to_owned()));
    }
    let directory = store.run(OsStr::new(name));
    fs::create_dir_all(&directory).map_err(|e| StoreError::Unwritable(directory.clone(), e))?;
    Ok(Run { name: name.into(), directory })
}

/// Whether a run may be called so.
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0', '\n'])
}

/// All runs, sorted by name.
pub fn list(store: &Store) -> Result<Vec<Run>, StoreError> {
    let unreadable = |e| StoreError::Unreadable(store.runs(), e);
    let entries = match fs::read_dir(store.runs()) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(unreadable(e)),
    };
    let mut runs = Vec::new();
    for entry in entries {
        let entry = entry.map_err(unreadable)?;
        if entry.path().is_dir() {
            runs.push(Run { name: entry.file_name(), directory: entry.path() });
        }
    }
    runs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(runs)
}

/// The run in which something began last.
pub fn latest(runs: Vec<Run>) -> Option<Run> {
    runs.into_iter().max_by_key(|r| (r.last_start(), r.name.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn runs_made_at_once_have_names_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::create(dir.path()).unwrap();
        let names: Vec<_> = std::thread::scope(|s| {
            let make = || (0..50).map(|_| create(&store).unwrap().name).collect::<Vec<_>>();
            let threads: Vec<_> = (0..8).map(|_| s.spawn(make)).collect();
            threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
        });
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), 400);
        assert_eq!(list(&store).unwrap().len(), 400);
    }

    #[test]
    fn names_that_would_leave_the_store_are_refused() {
        for bad in ["", ".", "..", ".hidden", "a/b", "/a", "../x", "a\nb"] {
            assert!(!is_name(bad), "{bad:?}");
        }
        assert!(is_name("nightly-3") && is_name("mit leer") && is_name("größe"));
    }

    #[test]
    fn the_latest_run_is_the_one_that_began_last_whatever_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::create(dir.path()).unwrap();
        for name in ["zzz", "aaa"] {
            let run = create_named(&store, name).unwrap();
            events::append(&run.directory, Kind::RunStart, &["/", "x"]).unwrap();
        }
        create_named(&store, "mmm").unwrap();
        let stale = store.run(OsStr::new("mmm"));
        fs::File::open(&stale).unwrap().set_modified(UNIX_EPOCH).unwrap();
        assert_eq!(latest(list(&store).unwrap()).unwrap().name, "aaa");
    }
}
