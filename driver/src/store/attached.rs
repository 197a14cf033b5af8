//! Tests that are attached to units: what a binary says of them, and what became of them in a run.

use std::path::Path;

use unseen_abi::event::Kind;
use unseen_abi::manifest::Manifest;
use unseen_abi::sections;
use unseen_abi::state::Attachments;

use super::events::Event;
use super::manifests::{self, ExtractError};

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
}

/// The tests that did not pass, among events.
pub fn told(events: &[Event]) -> Vec<Told> {
    events.iter().filter(|e| e.kind == Kind::Test).filter_map(|e| read_one(&e.fields)).collect()
}

fn read_one(fields: &[String]) -> Option<Told> {
    let [time, pid, module, test, outcome, state, missing, output] = fields else { return None };
    Some(Told {
        time: time.parse().ok()?,
        pid: pid.parse().ok()?,
        module: module.clone(),
        test: test.parse().ok()?,
        outcome: outcome.clone(),
        state: state.clone(),
        missing: missing.parse().ok()?,
        output: output.clone(),
    })
}

/// The tests of a binary, with the manifests that name their functions; nothing if there are none.
pub fn read(binary: &Path) -> Result<Vec<(Manifest, Attachments)>, ExtractError> {
    let manifests = manifests::extract(binary)?;
    let all = match manifests::section(binary, sections::UNITS) {
        Ok(bytes) => Attachments::decode_all(&bytes).map_err(|e| ExtractError::Bad(binary.into(), e))?,
        Err(ExtractError::None(_)) => Vec::new(),
        Err(e) => return Err(e),
    };
    let manifest = |a: &Attachments| manifests.iter().find(|m| m.id == a.id).cloned();
    Ok(all.into_iter().filter_map(|a| Some((manifest(&a)?, a))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn torn_events_are_left_out() {
        let event = |fields: &[&str]| Event { kind: Kind::Test, fields: fields.iter().map(|f| (*f).into()).collect() };
        let found =
            told(&[event(&["1", "2"]), event(&["5", "7", "ab", "3", "crash signal 11", "ff", "0", "boo\nhoo"])]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].pid, found[0].test, found[0].output.as_str()), (7, 3, "boo\nhoo"));
    }
}
