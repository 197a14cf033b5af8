//! A list of ranges of addresses.

use super::bytes::{Full, LINE, bits};
use crate::sys;
use core::ptr;

/// Room in a new list, and the most that a list may have.
const FIRST: usize = 256;
const MOST: usize = 1 << 16;

/// From where to where.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Range {
    start: usize,
    end: usize,
}

/// All zero is an empty list.
#[repr(C)]
pub struct Ranges {
    list: *mut Range,
    room: usize,
    used: usize,
}

impl Ranges {
    #[cfg(test)]
    pub const fn new() -> Ranges {
        Ranges { list: ptr::null_mut(), room: 0, used: 0 }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.used = 0;
    }

    /// Adds one.
    pub fn add(&mut self, start: usize, size: usize) -> Result<(), Full> {
        let range = Range { start, end: start.saturating_add(size) };
        // What was added last is often what comes next.
        if self.slice().last() == Some(&range) {
            return Ok(());
        }
        if self.used == self.room {
            self.grow()?;
        }
        // SAFETY: there is room for one more, and only we use it.
        unsafe { self.list.add(self.used).write(range) };
        self.used += 1;
        Ok(())
    }

    fn grow(&mut self) -> Result<(), Full> {
        let room = if self.room == 0 { FIRST } else { self.room * 2 };
        if room > MOST {
            return Err(Full);
        }
        let list = sys::map_memory(room * size_of::<Range>()).map_err(|_| Full)?.cast::<Range>();
        if self.room > 0 {
            // SAFETY: the old list has that many, and the new one more; nobody has a reference into the old one.
            unsafe {
                ptr::copy_nonoverlapping(self.list, list, self.used);
                sys::unmap_memory(self.list.cast(), self.room * size_of::<Range>());
            }
        }
        (self.list, self.room) = (list, room);
        Ok(())
    }

    fn slice(&self) -> &[Range] {
        if self.list.is_null() {
            return &[];
        }
        // SAFETY: so many were written.
        unsafe { core::slice::from_raw_parts(self.list, self.used) }
    }

    /// Puts them in order and makes one of those that touch. Returns how many bytes they have.
    pub fn sort(&mut self) -> u64 {
        if self.used == 0 {
            return 0;
        }
        // SAFETY: so many were written, and only we use them.
        let list = unsafe { core::slice::from_raw_parts_mut(self.list, self.used) };
        heap_sort(list);
        let (mut bytes, mut kept) = (0, 0_usize);
        for i in 0..list.len() {
            let Some(range) = list.get(i).copied() else { break };
            match kept.checked_sub(1).and_then(|last| list.get_mut(last)) {
                Some(last) if range.start <= last.end => {
                    bytes += range.end.saturating_sub(last.end) as u64;
                    last.end = last.end.max(range.end);
                }
                _ => {
                    bytes += (range.end - range.start) as u64;
                    if let Some(place) = list.get_mut(kept) {
                        *place = range;
                    }
                    kept += 1;
                }
            }
        }
        self.used = kept;
        bytes
    }

    /// Which bytes of a line are in them, once they are sorted.
    pub fn bits(&self, line: usize) -> u64 {
        let list = self.slice();
        let first = list.partition_point(|r| r.end <= line * LINE);
        let rest = list.get(first..).unwrap_or_default();
        rest.iter().map(|r| overlap(r, line)).take_while(|b| *b != 0).fold(0, |all, b| all | b)
    }

    /// Which bytes of a line are in them, in whatever order they are.
    pub fn bits_of_any(&self, line: usize) -> u64 {
        self.slice().iter().fold(0, |all, r| all | overlap(r, line))
    }
}

fn overlap(range: &Range, line: usize) -> u64 {
    let start = line * LINE;
    let from = range.start.max(start);
    let to = range.end.min(start.saturating_add(LINE));
    bits(from, to.saturating_sub(from))
}

/// Sorts by start. Written out, since what `core` has may panic.
fn heap_sort(list: &mut [Range]) {
    let n = list.len();
    for root in (0..n / 2).rev() {
        sift(list, root, n);
    }
    for end in (1..n).rev() {
        swap(list, 0, end);
        sift(list, 0, end);
    }
}

fn sift(list: &mut [Range], mut root: usize, end: usize) {
    let start = |list: &[Range], i: usize| list.get(i).map_or(0, |r| r.start);
    loop {
        let mut child = 2 * root + 1;
        if child >= end {
            return;
        }
        if child + 1 < end && start(list, child) < start(list, child + 1) {
            child += 1;
        }
        if start(list, root) >= start(list, child) {
            return;
        }
        swap(list, root, child);
        root = child;
    }
}

/// Without a panic if one is not there.
fn swap(list: &mut [Range], a: usize, b: usize) {
    if let Ok([x, y]) = list.get_disjoint_mut([a, b]) {
        core::mem::swap(x, y);
    }
}
