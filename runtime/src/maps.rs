//! What memory the process has, and which file a module was loaded from: `/proc/self/maps`.

use crate::sys::{self, File, Open};
use core::ops::Range;

/// What the kernel appends to the name of a file that was removed or replaced.
const DELETED: &[u8] = b" (deleted)";

/// The file mapped at `address`; for memory that belongs to no file (a packed executable) or without `/proc/self/maps`
/// the executable; empty if that can't be told either. `input` is room to work in, and holds the result.
pub fn file_at(address: usize, input: &mut [u8]) -> &[u8] {
    match find(address, input) {
        Some((start, end)) => input.get(start..end),
        None => sys::read_link(c"/proc/self/exe", input).ok(),
    }
    .map(|path| path.strip_suffix(DELETED).unwrap_or(path))
    .unwrap_or_default()
}

/// Reads the table in pieces. Gives the place of the path in `input`.
fn find(address: usize, input: &mut [u8]) -> Option<(usize, usize)> {
    let file = File::open(c"/proc/self/maps", Open::Read).ok()?;
    let mut filled = 0;
    loop {
        let n = file.read(input.get_mut(filled..)?).ok()?;
        if n == 0 {
            return None;
        }
        filled += n;
        let mut start = 0;
        while let Some(length) = input.get(start..filled)?.iter().position(|b| *b == b'\n') {
            let line = input.get(start..start + length)?;
            if let Some(path) = path_if_at(line, address) {
                return Some((start + length - path.len(), start + length));
            }
            start += length + 1;
        }
        // The beginning of a line is kept; a line longer than the buffer ends the search above, by a read of nothing.
        input.get_mut(..filled)?.copy_within(start.min(filled).., 0);
        filled -= start;
    }
}

/// The path in a line `start-end perms offset device inode   /path`, if the mapping has `address` and a path.
fn path_if_at(line: &[u8], address: usize) -> Option<&[u8]> {
    let dash = line.iter().position(|b| *b == b'-')?;
    let space = line.iter().position(|b| *b == b' ')?;
    let (start, end) = (hex(line.get(..dash)?)?, hex(line.get(dash + 1..space)?)?);
    if !(start..end).contains(&address) {
        return None;
    }
    line.iter().position(|b| *b == b'/').and_then(|slash| line.get(slash..))
}

/// What a line of the table says.
pub struct Line<'a> {
    pub range: Range<usize>,
    pub is_executable: bool,
    /// Of the file.
    pub offset: usize,
    pub device: &'a [u8],
    pub inode: &'a [u8],
    /// Or the kernel's name for what is no file.
    pub path: &'a [u8],
}

impl Line<'_> {
    /// Reads `start-end perms offset device inode   /path`.
    pub fn read(line: &[u8]) -> Option<Line<'_>> {
        let mut words = line.splitn(6, |b| *b == b' ');
        let (range, rights, offset) = (words.next()?, words.next()?, words.next()?);
        let (device, inode) = (words.next()?, words.next()?);
        let dash = range.iter().position(|b| *b == b'-')?;
        let range = hex(range.get(..dash)?)?..hex(range.get(dash + 1..)?)?;
        let path = words.next().unwrap_or_default().trim_ascii_start();
        let path = path.strip_suffix(DELETED).unwrap_or(path);
        Some(Line { range, is_executable: rights.get(2) == Some(&b'x'), offset: hex(offset)?, device, inode, path })
    }
}

/// Hands each line of a table to `f`, until that gives an error. `None` if the table can't be read to its end, or a line does not fit
/// into `input`, which is room to work in.
pub fn for_each_line<E>(
    file: &File,
    input: &mut [u8],
    mut f: impl FnMut(&[u8]) -> Result<(), E>,
) -> Option<Result<(), E>> {
    let mut filled = 0;
    loop {
        let n = file.read(input.get_mut(filled..)?).ok()?;
        if n == 0 {
            // A line that does not fit must not be taken for the end.
            return (filled == 0).then_some(Ok(()));
        }
        filled += n;
        let mut start = 0;
        while let Some(rest) = input.get(start..filled) {
            let Some(length) = rest.iter().position(|b| *b == b'\n') else { break };
            if let Err(stop) = f(rest.get(..length)?) {
                return Some(Err(stop));
            }
            start += length + 1;
        }
        input.get_mut(..filled)?.copy_within(start.min(filled).., 0);
        filled -= start.min(filled);
    }
}

fn hex(digits: &[u8]) -> Option<usize> {
    digits.iter().try_fold(0_usize, |n, d| Some(n.checked_mul(16)? + char::from(*d).to_digit(16)? as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gives_its_path_only_for_its_own_addresses() {
        let line = b"55d0c0a00000-55d0c0a02000 r--p 00000000 fd:01 1234      /usr/bin/some thing";
        assert_eq!(path_if_at(line, 0x55d0c0a00000), Some(&b"/usr/bin/some thing"[..]));
        assert_eq!(path_if_at(line, 0x55d0c0a01fff), Some(&b"/usr/bin/some thing"[..]));
        assert_eq!(path_if_at(line, 0x55d0c0a02000), None);
        assert_eq!(path_if_at(b"00400000-00500000 rw-p 00000000 00:00 0 ", 0x400000), None);
        assert_eq!(path_if_at(b"00400000-00500000 rw-p 00000000 00:00 0 [heap]", 0x400000), None);
        assert_eq!(path_if_at(b"", 0), None);
        assert_eq!(path_if_at(b"x-y z", 0), None);
    }

    #[test]
    fn a_line_is_read_with_all_its_parts() {
        let line = Line::read(b"55d0-55d2 r-xp 00001000 fd:01 1234      /usr/bin/some thing (deleted)").unwrap();
        assert_eq!((line.range, line.is_executable, line.offset), (0x55d0..0x55d2, true, 0x1000));
        assert_eq!((line.device, line.inode, line.path), (&b"fd:01"[..], &b"1234"[..], &b"/usr/bin/some thing"[..]));
        let line = Line::read(b"55d0-55d2 rw-p 00000000 00:00 0 ").unwrap();
        assert_eq!((line.is_executable, line.path), (false, &b""[..]));
        for bad in ["", "55d0", "x-y r-xp 0 0 0", "55d0-55d2 r-xp zero 00:00 0 "] {
            assert!(Line::read(bad.as_bytes()).is_none(), "{bad}");
        }
    }

    #[test]
    fn this_test_is_found_in_its_own_executable() {
        let here = this_test_is_found_in_its_own_executable as *const () as usize;
        let exe = std::env::current_exe().unwrap();
        let mut input = vec![0; 4096];
        assert_eq!(file_at(here, &mut input), exe.as_os_str().as_encoded_bytes());
        // Also where the table comes in many pieces, and where a heap address leaves only the executable to be named.
        let mut input = vec![0; 300];
        assert_eq!(file_at(here, &mut input), exe.as_os_str().as_encoded_bytes());
        let heap = input.as_ptr().addr();
        assert_eq!(file_at(heap, &mut input), exe.as_os_str().as_encoded_bytes());
    }

    #[test]
    fn a_buffer_too_small_for_a_line_is_no_catastrophe() {
        assert_eq!(file_at(1, &mut [0; 8]), b"");
    }
}
