//! Which bytes are in a call's set, were written by it, and were read before: a table of lines of 64 bytes, found by hashing, and
//! lists of ranges for what is large.

use super::ranges::Ranges;
use crate::sys;
use core::ptr;

/// Bytes per line.
pub const LINE: usize = 64;
/// Capacity of a new table, and the largest that is kept for the next call.
const FIRST: usize = 256;
const KEPT: usize = 1 << 13;
/// A call that touches more lines than half of this is given up.
const LARGEST: usize = if cfg!(test) { 1 << 14 } else { 1 << 21 };
/// What is at least that long in a set is a range, and what is written at once.
const LONG: usize = 4 * LINE;
const LONG_WRITE: usize = 64 * LINE;
/// So many written ranges are remembered as such: each new line looks at all of them.
const WRITES: usize = 64;
const LOOSE: usize = 256;

/// 64 bytes of memory; a bit each.
#[repr(C)]
#[derive(Clone, Copy)]
struct Line {
    /// The line's number plus one; 0 where there is none.
    key: usize,
    set: u64,
    written: u64,
    read: u64,
}

/// All zero is a table without lines.
#[repr(C)]
pub struct Bytes {
    lines: *mut Line,
    /// A power of two, or 0.
    capacity: usize,
    used: usize,
    /// What is large in the set; in order once it is sealed.
    set: Ranges,
    sealed: bool,
    written: Ranges,
    /// What is in the set if it belongs to no object that is known.
    loose: Ranges,
}

/// There is no room for more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

/// What a read turned out to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reading {
    /// Bytes that had neither been written nor read before.
    pub new: u64,
    /// Bytes among them that are not in the set.
    pub missed: u64,
}

impl Bytes {
    #[cfg(test)]
    pub const fn new() -> Bytes {
        Bytes {
            lines: ptr::null_mut(),
            capacity: 0,
            used: 0,
            set: Ranges::new(),
            sealed: false,
            written: Ranges::new(),
            loose: Ranges::new(),
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        if self.capacity > KEPT {
            // SAFETY: mapped by us with this size, and nobody has a reference into it.
            unsafe { sys::unmap_memory(self.lines.cast(), self.capacity * size_of::<Line>()) };
            self.lines = ptr::null_mut();
            self.capacity = 0;
        } else if self.used > 0 {
            // SAFETY: our own memory of that many lines; all zero is a line.
            unsafe { ptr::write_bytes(self.lines, 0, self.capacity) };
        }
        self.used = 0;
        self.sealed = false;
        self.set.clear();
        self.written.clear();
        self.loose.clear();
    }

    /// Adds to the set what belongs to no object that is known. Where there is no room for more, all of that does.
    pub fn add_loose(&mut self, address: usize, size: usize) {
        if self.loose.len() >= LOOSE {
            self.loose.clear();
            let _ = self.loose.add(0, usize::MAX);
        } else {
            let _ = self.loose.add(address, size);
        }
    }

    /// Whether that is in the set if it belongs to no object that is known.
    pub fn is_loose(&self, address: usize) -> bool {
        self.loose.bits_of_any(address / LINE) >> (address % LINE) & 1 != 0
    }

    /// Adds bytes to the set, before it is sealed.
    pub fn add(&mut self, address: usize, size: usize) -> Result<(), Full> {
        if size >= LONG {
            return self.set.add(address, size);
        }
        self.visit(address, size, |line, bits, _| line.set |= bits)
    }

    /// The set is complete. Returns how many bytes it has.
    pub fn seal(&mut self) -> u64 {
        let mut bytes = self.set.sort();
        self.sealed = true;
        for i in 0..self.capacity {
            // SAFETY: inside the table, which only we use.
            let line = unsafe { &mut *self.lines.add(i) };
            if line.key != 0 {
                let large = self.set.bits(line.key - 1);
                bytes += u64::from((line.set & !large).count_ones());
                line.set |= large;
            }
        }
        bytes
    }

    /// Bytes are written.
    pub fn write(&mut self, address: usize, size: usize) -> Result<(), Full> {
        if size >= LONG_WRITE && self.written.len() < WRITES {
            return self.written.add(address, size);
        }
        self.visit(address, size, |line, bits, _| line.written |= bits)
    }

    /// Bytes are read.
    pub fn read(&mut self, address: usize, size: usize) -> Result<Reading, Full> {
        let mut reading = Reading::default();
        self.visit(address, size, |line, bits, written| {
            let mut new = bits & !line.written & !line.read;
            if new != 0 {
                new &= !written.bits_of_any(line.key - 1);
            }
            reading.new += u64::from(new.count_ones());
            reading.missed += u64::from((new & !line.set).count_ones());
            line.read |= new;
        })?;
        Ok(reading)
    }

    fn visit(&mut self, address: usize, size: usize, mut f: impl FnMut(&mut Line, u64, &Ranges)) -> Result<(), Full> {
        let mut at = address;
        let mut left = size.min(usize::MAX - address);
        while left > 0 {
            let start = at % LINE;
            let n = left.min(LINE - start);
            let place = self.line(at / LINE)?;
            // SAFETY: a line of the table, which only we use.
            f(unsafe { &mut *place }, bits(start, n), &self.written);
            at += n;
            left -= n;
        }
        Ok(())
    }

    /// The line of that number; added if it is not there.
    fn line(&mut self, number: usize) -> Result<*mut Line, Full> {
        if self.used * 2 >= self.capacity {
            self.grow()?;
        }
        let place = find(self.lines, self.capacity, number + 1);
        // SAFETY: `find` gives a line of the table, which only we use.
        let line = unsafe { &mut *place };
        if line.key == 0 {
            line.key = number + 1;
            if self.sealed {
                line.set = self.set.bits(number);
            }
            self.used += 1;
        }
        Ok(place)
    }

    fn grow(&mut self) -> Result<(), Full> {
        let capacity = if self.capacity == 0 { FIRST } else { self.capacity * 2 };
        if capacity > LARGEST {
            return Err(Full);
        }
        let lines = sys::map_memory(capacity * size_of::<Line>()).map_err(|_| Full)?.cast::<Line>();
        for i in 0..self.capacity {
            // SAFETY: inside the old table, and a free line of the new one.
            unsafe {
                let line = *self.lines.add(i);
                if line.key != 0 {
                    *find(lines, capacity, line.key) = line;
                }
            }
        }
        if self.capacity > 0 {
            // SAFETY: mapped by us with this size, and all of it was copied.
            unsafe { sys::unmap_memory(self.lines.cast(), self.capacity * size_of::<Line>()) };
        }
        self.lines = lines;
        self.capacity = capacity;
        Ok(())
    }
}

/// Bits for the `n` bytes from `start` on, which are in one line.
pub fn bits(start: usize, n: usize) -> u64 {
    match n {
        0 => 0,
        n => (u64::MAX >> (LINE - n.min(LINE))) << (start % LINE),
    }
}

/// Where the line with that key is, or would be. The table is never full.
fn find(lines: *mut Line, capacity: usize, key: usize) -> *mut Line {
    let mut at = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    loop {
        let place = lines.wrapping_add(at & capacity.wrapping_sub(1));
        // SAFETY: inside the table of `capacity` lines, a power of two.
        let found = unsafe { (*place).key };
        if found == key || found == 0 {
            return place;
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// A small source of numbers that are the same each time.
    fn numbers(mut state: u64) -> impl FnMut(u64) -> u64 {
        move |below| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        }
    }

    #[test]
    fn it_says_what_sets_of_single_bytes_say() {
        let mut bytes = Bytes::new();
        for seed in 0..40 {
            bytes.clear();
            let mut next = numbers(seed);
            let (mut set, mut written, mut read) = (HashSet::new(), HashSet::new(), HashSet::new());
            let range = |next: &mut dyn FnMut(u64) -> u64| {
                let address = 0x7f00_0000_0000 + next(1 << (8 + seed % 12)) as usize;
                let most = [17, 300, 6000][(seed % 3) as usize];
                let most = if next(10) == 0 { most } else { 17 };
                address..address + next(most) as usize
            };
            for _ in 0..next(1000) {
                let range = range(&mut next);
                bytes.add(range.start, range.len()).unwrap();
                set.extend(range);
            }
            assert_eq!(bytes.seal(), set.len() as u64);
            for _ in 0..3000 {
                let range = range(&mut next);
                if next(3) == 0 {
                    bytes.write(range.start, range.len()).unwrap();
                    written.extend(range);
                } else {
                    let reading = bytes.read(range.start, range.len()).unwrap();
                    let new: Vec<usize> = range.filter(|a| !written.contains(a) && read.insert(*a)).collect();
                    let missed = new.iter().filter(|a| !set.contains(*a)).count() as u64;
                    assert_eq!(reading, Reading { new: new.len() as u64, missed });
                }
            }
        }
    }

    #[test]
    fn the_ends_of_the_address_space_are_no_trouble() {
        let mut bytes = Bytes::new();
        bytes.add(0, 1).unwrap();
        bytes.add(usize::MAX - 1000, 2000).unwrap();
        assert_eq!(bytes.seal(), 1001);
        assert_eq!(bytes.read(usize::MAX - 1003, 100), Ok(Reading { new: 100, missed: 3 }));
        assert_eq!(bytes.read(0, 2), Ok(Reading { new: 2, missed: 1 }));
    }

    #[test]
    fn what_is_loose_is_told() {
        let mut bytes = Bytes::new();
        bytes.add_loose(1000, 100);
        assert!(bytes.is_loose(1000) && bytes.is_loose(1099) && !bytes.is_loose(999) && !bytes.is_loose(1100));
        (0..=LOOSE).for_each(|i| bytes.add_loose(i << 20, 1));
        assert!(bytes.is_loose(999));
        bytes.clear();
        assert!(!bytes.is_loose(1000));
    }

    #[test]
    fn what_is_too_much_is_refused() {
        let mut bytes = Bytes::new();
        assert_eq!((0..LARGEST).find(|i| bytes.add((1 << 40) + i * LINE, 1).is_err()), Some(LARGEST / 2));
        bytes.clear();
        bytes.add(1 << 40, 8).unwrap();
        assert_eq!(bytes.seal(), 8);
    }
}
