//! Tests that are attached to units: what a binary says of them, and what became of them in a run.

use std::path::Path;

use unseen_abi::event::Kind;
use unseen_abi::manifest::Manifest;
use unseen_abi::sections;
use unseen_abi::state::Attachments;

use super::ModuleId;
use super::events::Event;
use super::manifests::{self, ExtractError, Finder, LoadError};

/// A test did not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// When, in ns since 1970.
    pub time: u64,
    pub pid: u32,
    pub module: String,
    /// Its number among all of the module.
    pub test: u32,
    /// `fail`, `crash signal 11 at 0x0`, `timeout`, `environment asked for socket`.
    pub outcome: String,
    /// In hex; empty if it could not be told.
    pub state: String,
    /// Bits of the protections that it was run without.
    pub missing: u32,
    /// The end of what it printed.
    pub output: String,
    /// What else is known of it, since version 2 of the event log.
    pub more: Option<More>,
}

/// Where it happened, and with what values; as [`Kind::Test`] describes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct More {
    /// The thread that called the unit.
    pub thread: u32,
    pub thread_name: String,
    /// The files that stacks are about, a line each.
    pub files: String,
    pub callers: String,
    /// Where the test was.
    pub place: String,
    pub arguments: String,
    pub values: String,
}

impl Told {
    /// Names the failure: the same test of the same build in the same state has the same id, in every run and on every machine.
    pub fn id(&self) -> String {
        let text = format!("{}\0{}\0{}", self.module, self.test, self.state);
        format!("{:012x}", xxhash_rust::xxh3::xxh3_64(text.as_bytes()) >> 16)
    }
}

/// How many states a test had met in a process and its children at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Met {
    /// When, in ns since 1970.
    pub time: u64,
    /// The process that made the file of counts.
    pub pid: u32,
    pub module: String,
    /// Its number among all of the module.
    pub test: u32,
    pub states: u64,
}

/// How the numbers of states grew, among events.
pub fn met(events: &[Event]) -> Vec<Met> {
    let read = |fields: &[String]| {
        let [time, pid, module, test, states] = fields else { return None };
        Some(Met {
            time: time.parse().ok()?,
            pid: pid.parse().ok()?,
            module: module.clone(),
            test: test.parse().ok()?,
            states: states.parse().ok()?,
        })
    };
    events.iter().filter(|e| e.kind == Kind::States).filter_map(|e| read(&e.fields)).collect()
}

/// The tests that did not pass, among events.
pub fn told(events: &[Event]) -> Vec<Told> {
    events.iter().filter(|e| e.kind == Kind::Test).filter_map(|e| read_one(&e.fields)).collect()
}

fn read_one(fields: &[String]) -> Option<Told> {
    let ([time, pid, module, test, outcome, state, missing, output], rest) = fields.split_first_chunk()?;
    let more = match rest {
        [] => None,
        [thread, thread_name, files, callers, place, arguments, values, ..] => Some(More {
            thread: thread.parse().ok()?,
            thread_name: thread_name.clone(),
            files: files.clone(),
            callers: callers.clone(),
            place: place.clone(),
            arguments: arguments.clone(),
            values: values.clone(),
        }),
        _ => return None,
    };
    Some(Told {
        time: time.parse().ok()?,
        pid: pid.parse().ok()?,
        module: module.clone(),
        test: test.parse().ok()?,
        outcome: outcome.clone(),
        state: state.clone(),
        missing: missing.parse().ok()?,
        output: output.clone(),
        more,
    })
}

/// The tests of a binary by the numbers of their functions; nothing if there are none.
pub fn units(binary: &Path) -> Result<Vec<Attachments>, ExtractError> {
    match manifests::section(binary, sections::UNITS) {
        Ok(bytes) => Attachments::decode_all(&bytes).map_err(|e| ExtractError::Bad(binary.into(), e)),
        Err(ExtractError::None(_)) => Ok(Vec::new()),
        Err(e) => Err(e),
    }
}

/// The tests of a binary, with the manifests that name their functions; nothing if there are none.
pub fn read(binary: &Path) -> Result<Vec<(Manifest, Attachments)>, ExtractError> {
    let manifests = manifests::extract(binary)?;
    let all = units(binary)?;
    let manifest = |a: &Attachments| manifests.iter().find(|m| m.id == a.id).cloned();
    Ok(all.into_iter().filter_map(|a| Some((manifest(&a)?, a))).collect())
}

/// Takes a module's tests and its manifest over into the store: a report must work after the next build.
pub fn keep(finder: &mut Finder<'_>, id: ModuleId, binary: &Path) -> Result<(), LoadError> {
    let path = finder.store().units(id);
    if !path.exists() {
        let unusable = |reason| LoadError::Unusable { id, reason };
        let all = units(binary).map_err(unusable)?;
        if let Some(own) = all.iter().find(|a| a.id == id.0) {
            let unwritable = |e: std::io::Error| unusable(ExtractError::Unreadable(path.clone(), e.to_string()));
            finder.store().write_whole(&path, &own.encode()).map_err(unwritable)?;
        }
    }
    finder.keep(id, binary)
}

/// A module's manifest and its tests, from the store or from the binary it was loaded from when it was recorded.
pub fn find(finder: &mut Finder<'_>, id: ModuleId, binary: &Path) -> Option<(Manifest, Attachments)> {
    let own = |all: Vec<Attachments>| all.into_iter().find(|a| a.id == id.0);
    let saved = std::fs::read(finder.store().units(id)).ok().and_then(|bytes| Attachments::decode_all(&bytes).ok());
    let attached = saved.and_then(own).or_else(|| units(binary).ok().and_then(own))?;
    Some((finder.find(id, binary).ok()?, attached))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn torn_events_are_left_out_and_old_ones_say_less() {
        let event = |fields: &[&str]| Event { kind: Kind::Test, fields: fields.iter().map(|f| (*f).into()).collect() };
        let found =
            told(&[event(&["1", "2"]), event(&["5", "7", "ab", "3", "crash signal 11", "ff", "0", "boo\nhoo"])]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].pid, found[0].test, found[0].output.as_str()), (7, 3, "boo\nhoo"));
        assert_eq!(found[0].more, None);
        let old = ["5", "7", "ab", "3", "fail", "", "0", ""];
        let new = [&old[..], &["9", "worker", "/bin/a\n", "0:1f", "", "2a", ""]].concat();
        let found = told(&[event(&new), event(&new[..11])]);
        assert_eq!(found.len(), 1);
        let more = found[0].more.as_ref().unwrap();
        assert_eq!((more.thread, &*more.thread_name, &*more.callers, &*more.arguments), (9, "worker", "0:1f", "2a"));
    }

    #[test]
    fn equal_failures_have_equal_ids_and_others_have_others() {
        let one = Told {
            time: 1,
            pid: 2,
            module: "ab".into(),
            test: 3,
            outcome: "fail".into(),
            state: "ff".into(),
            missing: 0,
            output: String::new(),
            more: None,
        };
        let id = one.id();
        assert!(id.len() == 12 && id.bytes().all(|b| b.is_ascii_hexdigit()), "{id}");
        assert_eq!(
            Told { time: 9, pid: 8, outcome: "fail aborted".into(), output: "x".into(), ..one.clone() }.id(),
            id
        );
        for other in [
            Told { module: "ac".into(), ..one.clone() },
            Told { test: 4, ..one.clone() },
            Told { state: "fe".into(), ..one.clone() },
        ] {
            assert_ne!(other.id(), id);
        }
    }
}
