//! What the mechanism `access` left in a run: a file of counts per process and module, and misses in the event log.

use std::fs;
use std::mem::offset_of;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use unseen_abi::access::{EXTENSION, Header, MAGIC, Sites, TALLIES, TALLY_WORDS, VERSION};
use unseen_abi::event::Kind;
use unseen_abi::sections;

use super::events::Event;
use super::manifests::{self, ExtractError};
use super::{Fault, ModuleId, Problem};

/// The counts of a module in one process.
#[derive(Debug)]
pub struct Tallies {
    pub id: ModuleId,
    pub pid: u32,
    /// The file the module was loaded from.
    pub binary: PathBuf,
    /// By unit; the words of [`unseen_abi::access::Tally`].
    pub units: Vec<[u64; TALLY_WORDS]>,
}

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

/// Reads the counts in a run's directory.
pub fn tallies(run: &Path) -> (Vec<Tallies>, Vec<Problem>) {
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    let mut paths: Vec<PathBuf> = match fs::read_dir(run) {
        Ok(entries) => entries.filter_map(|e| Some(e.ok()?.path())).collect(),
        Err(e) => {
            problems.push(Problem { file: run.into(), fault: e.into() });
            Vec::new()
        }
    };
    paths.retain(|p| p.extension() == Some(EXTENSION.as_ref()));
    paths.sort();
    for path in paths {
        match fs::read(&path) {
            Ok(bytes) => match decode(&bytes) {
                Some(tallies) => all.push(tallies),
                None => problems.push(Problem { file: path, fault: Fault::Damaged("it is no file of accesses") }),
            },
            Err(e) => problems.push(Problem { file: path, fault: e.into() }),
        }
    }
    (all, problems)
}

fn decode(bytes: &[u8]) -> Option<Tallies> {
    let u32_at = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if bytes.get(..8)? != MAGIC || u32_at(offset_of!(Header, version))? != VERSION {
        return None;
    }
    let units = u32_at(offset_of!(Header, units))? as usize;
    let words = bytes.get(TALLIES..)?.get(..units.checked_mul(TALLY_WORDS * 8)?)?;
    let word = |c: &[u8]| u64::from_le_bytes(c.try_into().expect("eight bytes"));
    let path = bytes.get(offset_of!(Header, path)..TALLIES)?.get(..u32_at(offset_of!(Header, path_len))? as usize)?;
    Some(Tallies {
        id: ModuleId(bytes.get(offset_of!(Header, id)..)?.get(..16)?.try_into().ok()?),
        pid: u32_at(offset_of!(Header, pid))?,
        binary: PathBuf::from(std::ffi::OsStr::from_bytes(path)),
        units: words
            .chunks_exact(TALLY_WORDS * 8)
            .map(|unit| std::array::from_fn(|i| word(&unit[8 * i..8 * i + 8])))
            .collect(),
    })
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

    #[test]
    fn a_file_that_is_cut_short_is_refused() {
        let mut bytes = vec![0; TALLIES + TALLY_WORDS * 8];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[offset_of!(Header, version)] = VERSION as u8;
        bytes[offset_of!(Header, units)] = 1;
        bytes[TALLIES] = 5;
        assert_eq!(decode(&bytes).unwrap().units, [[5, 0, 0, 0, 0, 0, 0]]);
        assert!(decode(&bytes[..bytes.len() - 1]).is_none());
        assert!(decode(&bytes[1..]).is_none());
        assert!(decode(&[]).is_none());
    }
}
