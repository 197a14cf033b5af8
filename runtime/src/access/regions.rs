//! Where there is memory at all, roughly: most words that are no pointers can be told by that, without asking the kernel.

use crate::sys::{File, Open};
use core::sync::atomic::{AtomicU64, Ordering};

/// Bytes per region: new memory nearly always comes near other memory.
const REGION: usize = 1 << 36;
/// Nothing of a program lies above.
pub const HIGHEST: usize = 1 << 47;
const WORDS: usize = HIGHEST / REGION / 64;

/// A bit for each region that has memory.
static REGIONS: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];

/// Whether there may be memory.
pub fn may_be(address: usize) -> bool {
    let region = address / REGION;
    REGIONS.get(region / 64).is_some_and(|word| word.load(Ordering::Relaxed) >> (region % 64) & 1 != 0)
}

/// There is memory.
pub fn note(start: usize, end: usize) {
    let last = end.clamp(start.saturating_add(1), HIGHEST.max(start.saturating_add(1))) - 1;
    for region in start / REGION..=last / REGION {
        if let Some(word) = REGIONS.get(region / 64) {
            let bit = 1 << (region % 64);
            // Nearly always it is known, and looking is cheaper.
            if word.load(Ordering::Relaxed) & bit == 0 {
                word.fetch_or(bit, Ordering::Relaxed);
            }
        }
    }
}

/// Looks at what the kernel says.
pub fn look() {
    let Ok(file) = File::open(c"/proc/self/maps", Open::Read) else { return note(0, HIGHEST) };
    let mut lines = Lines::default();
    let mut buffer = [0; 1024];
    while let Ok(n @ 1..) = file.read(&mut buffer) {
        for byte in buffer.get(..n).unwrap_or_default() {
            lines.next(*byte);
        }
    }
}

/// Reads lines `start-end ...`, byte by byte.
#[derive(Default)]
struct Lines {
    start: usize,
    number: usize,
    /// The rest of the line is of no interest.
    is_done: bool,
}

impl Lines {
    fn next(&mut self, byte: u8) {
        match (byte, char::from(byte).to_digit(16)) {
            (b'\n', _) => *self = Lines::default(),
            _ if self.is_done => {}
            (_, Some(digit)) => self.number = self.number << 4 | digit as usize,
            (b'-', _) => (self.start, self.number) = (self.number, 0),
            _ => {
                note(self.start, self.number);
                self.is_done = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mapped_is_known_and_most_else_is_not() {
        let (heap, stack) = (Box::new(1), 1);
        look();
        assert!(may_be(core::ptr::from_ref(&*heap).addr()) && may_be(core::ptr::from_ref(&stack).addr()));
        assert!(!may_be(0x2bad_0000_5678) && !may_be(usize::MAX));
        note(0x2bad_0000_5678, 0x2bad_0000_5679);
        assert!(may_be(0x2bad_0000_5678));
        let mut lines = Lines::default();
        b"2000000000-3fffffffff r--p 00000000 fd:01 77 /x-y 8-9\n".iter().for_each(|b| lines.next(*b));
        assert!(may_be(0x20_1000_0000) && may_be(0x3f_0000_0000));
    }
}
