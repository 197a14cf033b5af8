//! Reads the program's memory, whatever pointers say: nothing here faults.
//!
//! The kernel is asked. While the program has one thread, it is asked once for each page, which is then read directly: nobody can
//! take it away as long as a walk lasts (signal handlers may not call what does). Else the kernel copies whole blocks, which serve
//! for the rest of the walk: what was read once stays what it was.

use crate::sys::{self, Errno};
use crate::{run, weak};
use core::mem::MaybeUninit;

const PAGE: usize = 4096;
/// Bytes of a pointer.
pub const WORD: usize = size_of::<usize>();
/// How many pages are remembered.
const PAGES: usize = 16;
/// Bytes of a block: a part of a page.
const BLOCK: usize = 256;
/// How many blocks are remembered.
const BLOCKS: usize = 16;

/// Room for copies of parts of pages. Not a part of [`Memory`], which is moved.
pub struct Room([MaybeUninit<[u64; BLOCK / WORD]>; BLOCKS]);

impl Room {
    pub const fn new() -> Room {
        Room([const { MaybeUninit::uninit() }; BLOCKS])
    }
}

/// A reader for the time of one walk.
pub struct Memory<'a> {
    /// Nobody can take pages away.
    alone: bool,
    /// The kernel did not answer: what is said not to be there may be there.
    is_refused: bool,
    /// If alone, pages that can be read, by number plus one; and, always, pages that can't.
    pages: [usize; PAGES],
    missing: [usize; PAGES],
    blocks: Blocks<'a>,
}

/// Copies of parts of pages.
struct Blocks<'a> {
    /// Where they begin, and how much of them is there. Those that are not used yet have no bytes.
    starts: [usize; BLOCKS],
    lengths: [usize; BLOCKS],
    /// Which is to be given up next.
    next: usize,
    process: u32,
    room: &'a mut Room,
}

impl<'a> Memory<'a> {
    pub fn new(room: &'a mut Room) -> Memory<'a> {
        Memory::read_by(weak::has_one_thread(), room)
    }

    fn read_by(alone: bool, room: &'a mut Room) -> Memory<'a> {
        let blocks = Blocks { starts: [0; BLOCKS], lengths: [0; BLOCKS], next: 0, process: 0, room };
        Memory { alone, is_refused: false, pages: [0; PAGES], missing: [0; PAGES], blocks }
    }

    /// Whether what could not be read is not there. Else the kernel does not let us read, or does not know how.
    pub fn is_sure(&self) -> bool {
        !self.is_refused
    }

    /// An unsigned number of up to eight bytes.
    pub fn number(&mut self, address: usize, size: usize) -> Option<u64> {
        if let Some(word) = self.span(address).first_chunk::<WORD>()
            && size == WORD
        {
            return Some(u64::from_le_bytes(*word));
        }
        let mut word = [0];
        let size = size.min(WORD);
        (self.read(address, &mut word, size) == size).then_some(u64::from_le(word[0]))
    }

    /// Copies up to `length` bytes; returns how many. Memory that is not there ends it.
    pub fn read(&mut self, address: usize, to: &mut [u64], length: usize) -> usize {
        let length = length.min(size_of_val(to));
        let mut done = 0;
        while done < length {
            let span = self.span(address.wrapping_add(done));
            let n = span.len().min(length - done);
            if n == 0 {
                break;
            }
            // SAFETY: the buffer has that room, and is no part of what is read: whoever walks has it on his stack, below the program's.
            unsafe { core::ptr::copy(span.as_ptr(), to.as_mut_ptr().cast::<u8>().add(done), n) };
            done += n;
        }
        done
    }

    /// The length of a text, its zero byte included; up to where memory ends, or to `most`.
    pub fn text_length(&mut self, start: usize, most: usize) -> usize {
        let mut length = 0;
        while length < most {
            let span = self.span(start.wrapping_add(length));
            if span.is_empty() {
                break;
            }
            // Words without a zero byte are skipped.
            let words = span.chunks_exact(WORD).map(|word| word.try_into().map_or(0, u64::from_le_bytes));
            let full = words.take_while(|word| !has_zero(*word)).count() * WORD;
            if let Some(zero) = span.iter().skip(full).position(|b| *b == 0) {
                return length + full + zero + 1;
            }
            length += span.len();
        }
        length
    }

    /// The bytes from there on that can be read together; none if there are none.
    fn span(&mut self, address: usize) -> &[u8] {
        let page = address / PAGE;
        if page == 0 || self.missing.get(page % PAGES) == Some(&(page + 1)) {
            return &[];
        }
        if self.alone && self.is_page(page) {
            // SAFETY: the kernel could read that page in this walk, and nobody else runs who could change it or take it away.
            return unsafe { core::slice::from_raw_parts(address as *const u8, PAGE - address % PAGE) };
        }
        self.copied(address)
    }

    /// Whether a page can be read.
    fn is_page(&mut self, page: usize) -> bool {
        let Some(known) = self.pages.get_mut(page % PAGES) else { return false };
        if *known != page + 1 {
            if !sys::is_readable(page * PAGE) {
                return false;
            }
            *known = page + 1;
        }
        true
    }

    fn copied(&mut self, address: usize) -> &[u8] {
        let (start, offset) = (address - address % BLOCK, address % BLOCK);
        let Ok(index) = self.blocks.find(start) else {
            self.is_refused = true;
            return &[];
        };
        let block = self.blocks.bytes(index);
        if let (true, Some(missing)) = (block.is_empty(), self.missing.get_mut(address / PAGE % PAGES)) {
            *missing = address / PAGE + 1;
        }
        block.get(offset..).unwrap_or_default()
    }
}

impl Blocks<'_> {
    fn bytes(&self, index: usize) -> &[u8] {
        let (Some(words), Some(length)) = (self.room.0.get(index), self.lengths.get(index)) else { return &[] };
        // SAFETY: so many bytes were written.
        unsafe { core::slice::from_raw_parts(words.as_ptr().cast::<u8>(), *length) }
    }

    /// The number of the block that begins there.
    fn find(&mut self, start: usize) -> Result<usize, Errno> {
        let known = |(at, length): (&usize, &usize)| *at == start && *length > 0;
        if let Some(index) = self.starts.iter().zip(&self.lengths).position(known) {
            return Ok(index);
        }
        if self.process == 0 {
            if run::is_locked_in() {
                return Err(Errno::INVALID);
            }
            self.process = sys::process_id();
        }
        let index = self.next % BLOCKS;
        let (Some(to), Some(at), Some(length)) =
            (self.room.0.get_mut(index), self.starts.get_mut(index), self.lengths.get_mut(index))
        else {
            return Err(Errno::INVALID);
        };
        *length = 0;
        let to = to.write([0; BLOCK / WORD]);
        *length = match sys::try_read_memory(self.process, start, to, BLOCK) {
            Ok(n) => n,
            Err(Errno::FAULT) => 0,
            Err(other) => return Err(other),
        };
        *at = start;
        self.next = index + 1;
        Ok(index)
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

    fn both(rooms: &mut [Room; 2]) -> [Memory<'_>; 2] {
        let [a, b] = rooms;
        [Memory::read_by(true, a), Memory::read_by(false, b)]
    }

    fn rooms() -> [Room; 2] {
        [Room::new(), Room::new()]
    }

    #[test]
    fn texts_of_all_lengths_are_measured() {
        let mut text = vec![0x80_u8; 9000];
        for start in [0, 1, 7] {
            for length in [0, 1, 7, 8, 9, 255, 256, 257, 4095, 4096, 8000] {
                text[start + length] = 0;
                for mut memory in both(&mut rooms()) {
                    assert_eq!(memory.text_length(text.as_ptr().addr() + start, 1 << 20), length + 1);
                }
                text[start + length] = 0x80;
            }
        }
        both(&mut rooms()).iter_mut().for_each(|memory| assert_eq!(memory.text_length(8, 1 << 20), 0));
    }

    /// Three pages, the one in the middle missing: every piece of up to 600 bytes is read up to there.
    #[test]
    fn what_is_not_there_ends_it() {
        let at = sys::map_memory(3 * PAGE).unwrap();
        // SAFETY: fresh memory.
        let bytes = unsafe { core::slice::from_raw_parts_mut(at, 3 * PAGE) };
        bytes.iter_mut().zip(0_usize..).for_each(|(byte, i)| *byte = (i % 251 + 1) as u8);
        let expected = bytes.to_vec();
        // SAFETY: a page of it, which nobody uses.
        unsafe { sys::unmap_memory(at.wrapping_add(PAGE), PAGE) };
        for mut memory in both(&mut rooms()) {
            for start in (0..3 * PAGE).step_by(37) {
                for length in [1, 3, 8, 64, 255, 256, 600] {
                    let end = if start < PAGE { PAGE } else { 3 * PAGE };
                    let wanted = if start / PAGE == 1 { &[][..] } else { &expected[start..(start + length).min(end)] };
                    let mut to = [0; 80];
                    let n = memory.read(at.addr() + start, &mut to, length);
                    let got: Vec<u8> = to.iter().flat_map(|word| word.to_le_bytes()).take(n).collect();
                    // What follows the last page is not known.
                    let n = if start + length > 3 * PAGE { wanted.len() } else { n };
                    assert_eq!(got.get(..n), Some(wanted), "{start} {length}");
                }
                let number = memory.number(at.addr() + start, WORD);
                let word = expected.get(start..start + WORD).map(|w| u64::from_le_bytes(w.try_into().unwrap()));
                let is_there = start + WORD <= PAGE || (2 * PAGE..=3 * PAGE - WORD).contains(&start);
                if start + WORD <= 3 * PAGE {
                    assert_eq!(number, word.filter(|_| is_there), "{start}");
                }
            }
            assert!(memory.is_sure());
        }
        // SAFETY: nobody uses it.
        unsafe { sys::unmap_memory(at, 3 * PAGE) };
    }

    /// What another thread changes meanwhile does not change what was read.
    #[test]
    fn what_was_copied_stays() {
        let mut cell = Box::new(5_u64);
        let address = std::ptr::from_ref(&*cell).addr();
        let mut room = Room::new();
        let mut memory = Memory::read_by(false, &mut room);
        assert_eq!(memory.number(address, WORD), Some(5));
        *cell = 6;
        assert_eq!(std::hint::black_box(&*cell), &6);
        assert_eq!(memory.number(address, WORD), Some(5));
        assert_eq!(Memory::read_by(false, &mut Room::new()).number(address, WORD), Some(6));
    }
}
