//! Memory that the program shares with others becomes the test's own copy, at the same place. In: `/proc/self/maps`.
//!
//! What is shared and can't be written is left as it is.

use super::kernel;
use super::outcome::Reason;
use crate::maps;
use crate::sys::{self, File, Open};
use core::sync::atomic::{AtomicUsize, Ordering};
use linux_raw_sys::general as k;

/// So much is copied at most, in so many pieces.
const MOST_BYTES: usize = 64 << 20;
const MOST_PIECES: usize = 256;

/// A piece of shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Piece {
    start: usize,
    end: usize,
    is_executable: bool,
}

/// What a line of the table says.
#[derive(PartialEq, Eq, Debug)]
enum Line {
    /// Shared with other processes, and writable.
    Shared(Piece),
    /// The same, with a device.
    Device,
    Other,
}

/// What tests don't have, by start and end; 0 ends the list.
static LEFT_OUT: [[AtomicUsize; 2]; 64] = [const { [AtomicUsize::new(0), AtomicUsize::new(0)] }; 64];

/// Memory of ours that tests are not to have: it may be large, and they have no use for it. Where there is no room in the list it is copied.
pub fn leave_out(start: usize, length: usize) {
    for [first, end] in &LEFT_OUT {
        if first.compare_exchange(0, start, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            end.store(start.saturating_add(length), Ordering::SeqCst);
            return;
        }
    }
}

fn is_left_out(piece: &Piece) -> bool {
    let load = |n: &AtomicUsize| n.load(Ordering::SeqCst);
    LEFT_OUT.iter().any(|[start, end]| load(start) != 0 && load(start) <= piece.start && piece.end <= load(end))
}

/// Makes copies of all shared memory but the piece at `except`, and gives back what is left out.
pub fn make_private(except: usize) -> Result<(), Reason> {
    let mut pieces = [Piece::default(); MOST_PIECES];
    let mut count = 0;
    let mut total = 0_usize;
    for_each_line(|line| {
        match read(line) {
            Line::Shared(piece) if piece.start <= except && except < piece.end => {}
            Line::Shared(piece) if is_left_out(&piece) => {
                // SAFETY: our own, and nothing uses it in a test.
                unsafe { sys::unmap_memory(piece.start as *mut u8, piece.end - piece.start) };
            }
            Line::Shared(piece) => {
                *pieces.get_mut(count).ok_or(Reason::SharedMemory)? = piece;
                count += 1;
                total = total.saturating_add(piece.end - piece.start);
            }
            Line::Device => return Err(Reason::SharedDevice),
            Line::Other => {}
        }
        Ok(())
    })?;
    if total > MOST_BYTES {
        return Err(Reason::SharedMemory);
    }
    pieces.iter().take(count).try_for_each(copy)
}

fn copy(piece: &Piece) -> Result<(), Reason> {
    let length = piece.end - piece.start;
    let fresh = sys::map_memory(length).map_err(|_| Reason::SharedMemory)?;
    // SAFETY: fresh memory, whole pages.
    let words = unsafe { core::slice::from_raw_parts_mut(fresh.cast::<u64>(), length / 8) };
    // By the kernel: what lies beyond the end of a file can't be read, and is left out.
    const STEP: usize = 4096;
    let process = sys::process_id();
    let mut done = 0;
    while done < length {
        let n =
            words.get_mut(done / 8..).map_or(0, |to| sys::read_memory(process, piece.start + done, to, length - done));
        done += if n == 0 { STEP } else { n };
    }
    if piece.is_executable {
        let protection = k::PROT_READ | k::PROT_WRITE | k::PROT_EXEC;
        kernel::plain(k::__NR_mprotect, [fresh.addr(), length, protection as usize, 0, 0])
            .map_err(|_| Reason::SharedMemory)?;
    }
    let flags = (k::MREMAP_MAYMOVE | k::MREMAP_FIXED) as usize;
    kernel::plain(k::__NR_mremap, [fresh.addr(), length, length, flags, piece.start])
        .map(drop)
        .map_err(|_| Reason::SharedMemory)
}

/// Hands each line of the table to `f`.
fn for_each_line(f: impl FnMut(&[u8]) -> Result<(), Reason>) -> Result<(), Reason> {
    let file = File::open(c"/proc/self/maps", Open::Read).map_err(|_| Reason::NoProc)?;
    maps::for_each_line(&file, &mut [0; 8192], f).unwrap_or(Err(Reason::NoProc))
}

/// Reads `start-end perms offset device inode   /path`.
fn read(line: &[u8]) -> Line {
    let mut words = line.split(|b| *b == b' ').filter(|word| !word.is_empty());
    let (Some(range), Some(rights)) = (words.next(), words.next()) else { return Line::Other };
    let [_, b'w', execute, b's'] = rights else { return Line::Other };
    let path = words.nth(3).unwrap_or_default();
    let is_memory = path.starts_with(b"/dev/shm/") || path == b"/dev/zero";
    if path.starts_with(b"anon_inode:") || (path.starts_with(b"/dev/") && !is_memory) {
        return Line::Device;
    }
    let mut ends = range.split(|b| *b == b'-').map(hex);
    match (ends.next().flatten(), ends.next().flatten()) {
        (Some(start), Some(end)) if start < end => Line::Shared(Piece { start, end, is_executable: *execute == b'x' }),
        _ => Line::Other,
    }
}

pub fn hex(digits: &[u8]) -> Option<usize> {
    digits.iter().try_fold(0_usize, |n, d| Some(n.checked_mul(16)? | char::from(*d).to_digit(16)? as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_shared_and_writable_is_copied() {
        let piece = |is_executable| Line::Shared(Piece { start: 0x1000, end: 0x3000, is_executable });
        for (line, expected) in [
            ("1000-3000 rw-s 00000000 00:01 7   /dev/zero (deleted)", piece(false)),
            ("1000-3000 rw-s 00000000 00:01 7   /dev/shm/x", piece(false)),
            ("1000-3000 rwxs 00000000 00:01 7   /tmp/a b", piece(true)),
            ("1000-3000 -w-s 00000000 00:01 7   /memfd:x (deleted)", piece(false)),
            ("1000-3000 rw-s 00000000 00:01 7   /dev/dri/card0", Line::Device),
            ("1000-3000 rw-s 00000000 00:01 7   anon_inode:[io_uring]", Line::Device),
            ("1000-3000 r--s 00000000 00:01 7   /dev/dri/card0", Line::Other),
            ("1000-3000 rw-p 00000000 00:00 0 ", Line::Other),
            ("", Line::Other),
        ] {
            assert_eq!(read(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn the_table_of_this_process_is_read_to_its_end() {
        let mut lines = 0;
        for_each_line(|line| {
            lines += 1;
            assert!(line.contains(&b'-'));
            Ok(())
        })
        .unwrap();
        assert!(lines > 10);
    }
}
