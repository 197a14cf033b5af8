//! What the mechanism `access` left in a run beside its counts: misses in the event log.

use std::path::Path;

use unseen_abi::access::Sites;
use unseen_abi::event::Kind;
use unseen_abi::sections;

use super::events::Event;
use super::manifests::{self, ExtractError};

/// A unit read what is not in its set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    pub pid: u32,
    pub module: String,
    pub unit: u32,
    pub site: u32,
    pub bytes: u64,
    pub object: Object,
    /// The units that were active, innermost last.
    pub chain: Vec<u32>,
}

/// Where it read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Object {
    Variable { number: u32, offset: u64 },
    Heap { size: u64, offset: u64 },
    Stack,
    Unknown,
}

/// The misses among events.
pub fn misses(events: &[Event]) -> Vec<Miss> {
    events.iter().filter(|e| e.kind == Kind::Miss).filter_map(|e| miss(&e.fields)).collect()
}

fn miss(fields: &[String]) -> Option<Miss> {
    let [_, pid, module, unit, site, _, bytes, object, chain] = fields else { return None };
    let mut words = object.split(' ');
    let kind = words.next()?;
    let mut number = || words.next()?.parse().ok();
    let object = match kind {
        "variable" => Object::Variable { number: number()? as u32, offset: number()? },
        "heap" => Object::Heap { size: number()?, offset: number()? },
        "stack" => Object::Stack,
        _ => Object::Unknown,
    };
    Some(Miss {
        pid: pid.parse().ok()?,
        module: module.clone(),
        unit: unit.parse().ok()?,
        site: site.parse().ok()?,
        bytes: bytes.parse().ok()?,
        object,
        chain: chain.split_ascii_whitespace().filter_map(|u| u.parse().ok()).collect(),
    })
}

/// What numbers of sites mean in a binary; nothing if it was built without `access`.
pub fn sites(binary: &Path) -> Result<Vec<Sites>, ExtractError> {
    match manifests::section(binary, sections::SITES) {
        Ok(bytes) => Sites::decode_all(&bytes).map_err(|e| ExtractError::Bad(binary.into(), e)),
        Err(ExtractError::None(_)) => Ok(Vec::new()),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(fields: &[&str]) -> Event {
        Event { kind: Kind::Miss, fields: fields.iter().map(|f| (*f).to_owned()).collect() }
    }

    #[test]
    fn misses_are_read_and_torn_ones_left_out() {
        let whole = event(&["1", "7", "ab", "3", "9", "ff", "4", "heap 16 8", "1 3 "]);
        let torn = event(&["1", "7", "ab"]);
        let found = misses(&[torn, whole]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].unit, found[0].site, found[0].chain.clone()), (3, 9, vec![1, 3]));
        assert_eq!(found[0].object, Object::Heap { size: 16, offset: 8 });
    }
}
