//! Reads the program's memory, whatever pointers say: nothing here faults.
//!
//! The kernel does the reading. A page that it could read is then read directly, for as long as one walk lasts and no other thread
//! can take it away.

use super::thread;
use crate::sys;

const PAGE: usize = 4096;
/// Bytes of a pointer.
pub const WORD: usize = size_of::<usize>();
/// How many pages are remembered.
const PAGES: usize = 64;

/// A reader for the time of one walk.
pub struct Memory {
    /// Pages that can be read, by number plus one, and pages that can't.
    pages: [usize; PAGES],
    missing: [usize; PAGES],
    process: u32,
    /// No other thread can take pages away.
    alone: bool,
}

impl Memory {
    pub fn new() -> Memory {
        Memory { pages: [0; PAGES], missing: [0; PAGES], process: sys::process_id(), alone: thread::is_only() }
    }

    /// An unsigned number of up to eight bytes.
    pub fn number(&mut self, address: usize, size: usize) -> Option<u64> {
        if size == WORD && self.is_known(address, WORD) {
            // SAFETY: as in `read`.
            return Some(unsafe { core::ptr::read_unaligned(address as *const u64) });
        }
        let mut word = [0];
        let size = size.min(WORD);
        (self.read(address, &mut word, size) == size).then_some(u64::from_le(word[0]))
    }

    /// Copies up to `length` bytes; returns how many. Memory that is not there ends it.
    pub fn read(&mut self, address: usize, to: &mut [u64], length: usize) -> usize {
        let length = length.min(size_of_val(to));
        if self.is_known(address, length) {
            // SAFETY: the kernel could read that page in this walk, and nobody else runs who could take it away; the buffer has
            // the room.
            unsafe { core::ptr::copy(address as *const u8, to.as_mut_ptr().cast::<u8>(), length) };
            return length;
        }
        let page = address / PAGE;
        if self.missing.get(page % PAGES) == Some(&(page + 1)) {
            return 0;
        }
        let read = sys::read_memory(self.process, address, to, length);
        let list = if read > 0 { &mut self.pages } else { &mut self.missing };
        if let Some(known) = list.get_mut(page % PAGES) {
            *known = page + 1;
        }
        read
    }

    /// Whether these bytes can be read directly.
    fn is_known(&self, address: usize, length: usize) -> bool {
        let page = address / PAGE;
        self.alone && self.pages.get(page % PAGES) == Some(&(page + 1)) && address % PAGE + length <= PAGE
    }

    /// The length of a text, its zero byte included; up to where memory ends, or to `most`.
    pub fn text_length(&mut self, start: usize, most: usize) -> usize {
        let mut length = 0;
        let mut buffer = [0_u64; 32];
        while length < most {
            let address = start.wrapping_add(length);
            // Not beyond the page: the next may be missing.
            let room = (PAGE - address % PAGE).min(size_of_val(&buffer));
            let mut from = buffer.as_ptr().cast::<u8>();
            let n = if self.is_known(address, room) {
                // As in `read`, without the copy.
                from = address as *const u8;
                room
            } else {
                self.read(address, &mut buffer, room).min(room)
            };
            // SAFETY: so many bytes of the buffer, or of a page that the kernel could read.
            let bytes = unsafe { core::slice::from_raw_parts(from, n) };
            // Words without a zero byte are skipped.
            let words = bytes.chunks_exact(WORD).map(|word| word.try_into().map_or(0, u64::from_le_bytes));
            let full = words.take_while(|word| !has_zero(*word)).count() * WORD;
            match bytes.iter().skip(full).position(|b| *b == 0) {
                Some(zero) => return length + full + zero + 1,
                None if n < room => return length + n,
                None => length += n,
            }
        }
        length
    }
}

/// Whether one of its bytes is 0.
fn has_zero(word: u64) -> bool {
    const LOW: u64 = u64::MAX / 0xff;
    word.wrapping_sub(LOW) & !word & (LOW << 7) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_all_lengths_are_measured() {
        let mut text = vec![0x80_u8; 9000];
        for start in [0, 1, 7] {
            for length in [0, 1, 7, 8, 9, 255, 256, 257, 4095, 4096, 8000] {
                text[start + length] = 0;
                assert_eq!(Memory::new().text_length(text.as_ptr().addr() + start, 1 << 20), length + 1);
                text[start + length] = 0x80;
            }
        }
        assert_eq!(Memory::new().text_length(8, 1 << 20), 0);
    }
}
