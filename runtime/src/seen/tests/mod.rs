//! Tests of the seen set: [`content`] (what is found and what is not), [`crashes`] (processes that are killed), [`files`] (what can
//! be wrong with files), [`import`] (sets of other stores), [`whole`] (states that are not hashed).

mod content;
mod crashes;
mod files;
mod import;
mod whole;

use super::{Key, Seen};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const ID: [u8; 16] = *b"the build's id..";

/// A directory with the files of a set.
struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        Place { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("x.seen")
    }

    fn wide_path(&self) -> PathBuf {
        self.directory.path().join("x.seen-wide")
    }

    fn try_open(&self, most: u64) -> Result<Seen, super::Refused> {
        Seen::open(&c_path(&self.path()), &ID, most)
    }

    fn open(&self) -> Seen {
        self.try_open(0).unwrap()
    }
}

fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

fn insert(seen: &Seen, key: Key) -> bool {
    match key {
        Key::Narrow(key) => seen.insert(key),
        Key::Wide(key) => seen.insert(key),
    }
}

fn contains(seen: &Seen, key: Key) -> bool {
    match key {
        Key::Narrow(key) => seen.contains(key),
        Key::Wide(key) => seen.contains(key),
    }
}

/// Numbers without a pattern, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}
