//! What was counted for each unit: a file per process and module.

use std::fs;
use std::mem::offset_of;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use unseen_abi::tallies::{Form, Header, START};

use super::{Fault, ModuleId, Problem};

/// The counts of a module in one process.
#[derive(Debug)]
pub struct Tallies {
    pub id: ModuleId,
    pub pid: u32,
    /// The file the module was loaded from.
    pub binary: PathBuf,
    /// By unit; as many words as the form says.
    pub units: Vec<Vec<u64>>,
}

/// Reads the files of that form in a run's directory.
pub fn read(run: &Path, form: &Form) -> (Vec<Tallies>, Vec<Problem>) {
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    let mut paths: Vec<PathBuf> = match fs::read_dir(run) {
        Ok(entries) => entries.filter_map(|e| Some(e.ok()?.path())).collect(),
        Err(e) => {
            problems.push(Problem { file: run.into(), fault: e.into() });
            Vec::new()
        }
    };
    paths.retain(|p| p.extension() == Some(form.extension.as_ref()));
    paths.sort();
    for path in paths {
        match fs::read(&path) {
            Ok(bytes) => match decode(&bytes, form) {
                Some(tallies) => all.push(tallies),
                None => problems.push(Problem { file: path, fault: Fault::Damaged("it is no file of counts") }),
            },
            Err(e) => problems.push(Problem { file: path, fault: e.into() }),
        }
    }
    (all, problems)
}

fn decode(bytes: &[u8], form: &Form) -> Option<Tallies> {
    let u32_at = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if bytes.get(..8)? != form.magic || u32_at(offset_of!(Header, version))? != form.version {
        return None;
    }
    let units = u32_at(offset_of!(Header, units))? as usize;
    let words = bytes.get(START..)?.get(..units.checked_mul(form.words * 8)?)?;
    let word = |c: &[u8]| u64::from_le_bytes(c.try_into().expect("eight bytes"));
    let path = bytes.get(offset_of!(Header, path)..START)?.get(..u32_at(offset_of!(Header, path_len))? as usize)?;
    Some(Tallies {
        id: ModuleId(bytes.get(offset_of!(Header, id)..)?.get(..16)?.try_into().ok()?),
        pid: u32_at(offset_of!(Header, pid))?,
        binary: PathBuf::from(std::ffi::OsStr::from_bytes(path)),
        units: words.chunks_exact(form.words * 8).map(|unit| unit.chunks_exact(8).map(word).collect()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_cut_short_is_refused() {
        let form = Form { extension: "x", magic: *b"SOME1234", version: 3, words: 2 };
        let mut bytes = vec![0; START + 16];
        bytes[..8].copy_from_slice(&form.magic);
        bytes[offset_of!(Header, version)] = form.version as u8;
        bytes[offset_of!(Header, units)] = 1;
        bytes[START] = 5;
        assert_eq!(decode(&bytes, &form).unwrap().units, [[5, 0]]);
        assert!(decode(&bytes[..bytes.len() - 1], &form).is_none());
        assert!(decode(&bytes[1..], &form).is_none());
        assert!(decode(&[], &form).is_none());
    }
}
