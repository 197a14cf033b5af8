//! The directory of a test: the only place where it may write. In: the directory for all of them, and a number. Never follows a link.

use super::kernel;
use crate::sys::{self, Errno, File, Result};
use crate::text::Text;
use core::ffi::CStr;
use linux_raw_sys::general as k;

/// So many levels of directories are removed; what is below stays.
const DEPTH: u32 = 16;

/// Longest path to it.
const PATH: usize = 1024;

fn path<'a>(parent: &CStr, number: u32, buffer: &'a mut [u8]) -> Option<&'a CStr> {
    let parent = parent.to_bytes();
    if parent.is_empty() {
        return None;
    }
    Text::new(buffer).bytes(parent).bytes(b"/test-").decimal(number.into()).path()
}

/// Makes it.
pub fn make(parent: &CStr, number: u32) -> Result<File> {
    let mut buffer = [0; PATH];
    let path = path(parent, number, &mut buffer).ok_or(Errno::NAME_TOO_LONG)?;
    if sys::make_directory(path) == Err(Errno::NO_ENTRY) {
        let _ = sys::make_directory(parent);
        sys::make_directory(path)?;
    }
    kernel::open(path, k::O_PATH | k::O_DIRECTORY | k::O_NOFOLLOW)
}

/// Removes it and all that is in it.
pub fn remove(parent: &CStr, number: u32) {
    let mut buffer = [0; PATH];
    let Some(path) = path(parent, number, &mut buffer) else { return };
    if unlink(k::AT_FDCWD as usize, path, k::AT_REMOVEDIR) != Err(Errno::NOT_EMPTY) {
        return;
    }
    if let Ok(directory) = kernel::open(path, k::O_RDONLY | k::O_DIRECTORY | k::O_NOFOLLOW) {
        empty(&directory, DEPTH);
    }
    let _ = unlink(k::AT_FDCWD as usize, path, k::AT_REMOVEDIR);
}

fn unlink(directory: usize, name: &CStr, flags: u32) -> Result<()> {
    // SAFETY: reads the name.
    unsafe { sys::call(k::__NR_unlinkat, [directory, name.as_ptr().addr(), flags as usize, 0, 0, 0]) }.map(drop)
}

fn empty(directory: &File, depth: u32) {
    let _ = sys::for_each_entry(directory, |name| {
        if unlink(directory.number(), name, 0).is_err() && depth > 0 {
            let flags = k::O_RDONLY | k::O_DIRECTORY | k::O_NOFOLLOW | k::O_CLOEXEC;
            let arguments = [directory.number(), name.as_ptr().addr(), flags as usize, 0, 0, 0];
            // SAFETY: reads the name.
            if let Ok(inner) = unsafe { sys::call(k::__NR_openat, arguments) } {
                empty(&File::from_number(inner), depth - 1);
            }
            let _ = unlink(directory.number(), name, k::AT_REMOVEDIR);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_directory_is_removed_with_all_that_is_in_it() {
        let around = tempfile::tempdir().unwrap();
        let parent = std::ffi::CString::new(around.path().join("tests").to_str().unwrap()).unwrap();
        drop(make(&parent, 7).unwrap());
        let mine = around.path().join("tests/test-7");
        fs::create_dir_all(mine.join("a/b/c")).unwrap();
        for i in 0..300 {
            fs::write(mine.join(format!("a/some-longer-name-{i}")), "x").unwrap();
        }
        fs::write(around.path().join("outside"), "x").unwrap();
        std::os::unix::fs::symlink(around.path(), mine.join("a/link")).unwrap();
        remove(&parent, 7);
        assert!(!mine.exists());
        assert!(around.path().join("outside").exists());
        remove(&parent, 7);
    }
}
