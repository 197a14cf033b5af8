//! Forks that leave memory out. A fork takes as long as there is memory to copy the tables of; the copy for a test needs little of it.
//!
//! In: a [`Keep`], what the test may touch. Out: [`Outside`], which pieces of memory the fork will not copy, marked as such (`MADV_DONTFORK`)
//! until [`Outside::bring_back`]. What is left out are large pieces of anonymous memory; all else, code and variables and stacks, stays.
//!
//! While memory is marked, any other fork would lose it, and so would the program's own children. So this is done only if nobody else can
//! fork: the program has one thread, which stands here with all signals blocked, and is not the guest of another process in its memory,
//! as after `vfork`. It is the same thread that marks and takes the marks away, whatever becomes of the supervisor.
//!
//! Memory that the program itself has marked is not touched. The kernel does not tell of marks, but it keeps an area apart from its
//! neighbour if one has it and the other has not: so a piece is marked that does not reach to the end of its area. If no new area
//! shows there, the mark was there before.

use super::areas::{Area, Areas};
use super::{IS_TEST, kernel, slots};
use crate::{arch, sys};
use core::ops::{Deref, DerefMut};
use linux_raw_sys::general as k;

/// A program that never had more memory than that gains nothing.
const LEAST_PROGRAM: usize = 8 << 20;
/// Smaller areas are copied.
const LEAST_AREA: usize = 1 << 20;
/// Smaller pieces between what is kept are copied too: it takes as long to mark them.
const LEAST_PIECE: usize = 256 << 10;
/// A stack is kept as a whole if it is no larger.
const LARGE_STACK: usize = 16 << 20;
/// Whole pages, of whatever size.
const GRAIN: usize = 64 << 10;
/// So much of a heap's end is kept, and of a large stack to both sides: what an allocation or a call takes next.
const NEAR: usize = 256 << 10;

/// How many pieces may be left out.
pub const MOST_PIECES: usize = 32;
const MOST_AREAS: usize = 16;
/// How many ranges can be kept; some are for ourselves.
const MOST_RANGES: usize = 112;
const OWN_RANGES: usize = 8;
const MOST_WHOLE: usize = 4;

/// From and to.
type Range = [usize; 2];

/// What a test may touch.
pub struct Keep {
    ranges: [Range; MOST_RANGES],
    count: usize,
    /// Areas with these addresses stay as a whole; 0 is none.
    whole: [usize; MOST_WHOLE],
}

/// One in memory of its own, since stacks may be small; given back when dropped.
pub struct MappedKeep(*mut Keep);

impl Deref for MappedKeep {
    type Target = Keep;
    fn deref(&self) -> &Keep {
        // SAFETY: ours alone, page aligned, and all zero is a value of this type.
        unsafe { &*self.0 }
    }
}

impl DerefMut for MappedKeep {
    fn deref_mut(&mut self) -> &mut Keep {
        // SAFETY: as above.
        unsafe { &mut *self.0 }
    }
}

impl Drop for MappedKeep {
    fn drop(&mut self) {
        // SAFETY: mapped by us, with this size, and borrowed by nobody any more.
        unsafe { sys::unmap_memory(self.0.cast(), size_of::<Keep>()) };
    }
}

impl Keep {
    /// An empty one.
    pub fn map() -> sys::Result<MappedKeep> {
        sys::map_memory(size_of::<Keep>()).map(|at| MappedKeep(at.cast()))
    }

    /// Adds a piece of memory; nothing if there are too many.
    pub fn add(&mut self, start: usize, length: usize) -> Option<()> {
        (self.count < MOST_RANGES - OWN_RANGES).then(|| self.add_own(start, length))
    }

    /// Adds the whole area around an address.
    pub fn add_area(&mut self, address: usize) {
        if let Some(free) = self.whole.iter_mut().find(|at| **at == 0) {
            *free = address;
        }
    }

    fn add_own(&mut self, start: usize, length: usize) {
        let first = start & !(GRAIN - 1);
        let end = start.saturating_add(length.max(1)).saturating_add(GRAIN - 1) & !(GRAIN - 1);
        // One that is there already, or touches it.
        let known = self.ranges.get_mut(..self.count).unwrap_or_default();
        if let Some(range) = known.iter_mut().find(|[from, to]| *from <= end && first <= *to) {
            *range = [range[0].min(first), range[1].max(end)];
        } else if let Some(free) = self.ranges.get_mut(self.count) {
            *free = [first, end];
            self.count += 1;
        }
    }

    fn all(&self) -> &[Range] {
        self.ranges.get(..self.count).unwrap_or_default()
    }

    fn keeps(&self, area: &Area) -> bool {
        self.whole.iter().any(|at| *at != 0 && area.has(*at))
    }

    /// Where the first piece that is not kept begins and ends, in these bounds.
    fn gap(&self, from: usize, end: usize) -> Option<Range> {
        let mut start = from;
        while let Some([_, to]) = self.all().iter().find(|[from, to]| *from <= start && start < *to) {
            start = *to;
        }
        let next = self.all().iter().map(|[from, _]| *from).filter(|from| *from > start).min();
        let stop = next.unwrap_or(end).min(end);
        (start < stop).then_some([start, stop])
    }
}

/// The pieces of memory that a test does not have.
#[derive(Clone, Copy)]
pub struct Outside {
    pieces: [Range; MOST_PIECES],
    count: usize,
}

impl Outside {
    /// The test has all memory.
    pub const NOTHING: Outside = Outside { pieces: [[0; 2]; MOST_PIECES], count: 0 };

    pub fn pieces(&self) -> &[Range] {
        self.pieces.get(..self.count).unwrap_or_default()
    }

    pub fn is_nothing(&self) -> bool {
        self.count == 0
    }

    pub fn bytes(&self) -> u64 {
        self.pieces().iter().map(|[from, to]| (to - from) as u64).sum()
    }

    /// Chooses and marks what the next fork leaves out. Signals are blocked, and stay so until it was brought back.
    pub fn mark(kept: &mut Keep, own: &[Range]) -> Outside {
        let mut outside = Outside::NOTHING;
        if !is_alone() {
            return outside;
        }
        let Ok(areas) = Areas::open() else { return outside };
        own.iter().for_each(|[start, length]| kept.add_own(*start, *length));
        let stack = arch::stack_pointer();
        kept.add_own(stack.saturating_sub(NEAR), 2 * NEAR);
        if arch::has_thread_pointer() {
            kept.add_own(arch::thread_pointer().saturating_sub(GRAIN), 2 * GRAIN);
        }
        let heap = kernel::heap_end().saturating_sub(1);
        let ours = (&raw const IS_TEST).addr();
        let mut large = [Area::default(); MOST_AREAS];
        let mut count = 0;
        let listed = areas.for_each(|area| {
            let size = area.end - area.start;
            let stays = area.has(ours) || kept.keeps(area) || (area.has(stack) && size <= LARGE_STACK);
            if let (true, Some(place)) = (area.is_anonymous && size >= LEAST_AREA && !stays, large.get_mut(count)) {
                *place = *area;
                count += 1;
            }
        });
        if listed.is_err() {
            return outside;
        }
        for area in large.iter().take(count) {
            if area.has(heap) {
                // Where its first block lies, and those that are yet to be given away.
                kept.add_own(area.start, GRAIN);
                kept.add_own(area.end.saturating_sub(NEAR), NEAR);
            }
            outside.mark_area(area, kept, &areas);
        }
        outside
    }

    /// Marks what is not kept of an area, unless the program has marked it.
    fn mark_area(&mut self, area: &Area, keep: &Keep, areas: &Areas) {
        let mut at = area.start;
        let mut is_ours = false;
        while let Some([start, mut end]) = keep.gap(at, area.end) {
            at = end;
            if start == area.start && end == area.end {
                // An end of it must show.
                end = (end - 1) & !(GRAIN - 1);
            }
            if end.saturating_sub(start) < LEAST_PIECE {
                continue;
            }
            let Some(place) = self.pieces.get_mut(self.count) else { return };
            // SAFETY: concerns forks only, and nobody else can fork. One that fails has changed nothing: there are too many areas.
            if unsafe { kernel::advise(start, end - start, k::MADV_DONTFORK) }.is_err() {
                return;
            }
            if !is_ours {
                let found = areas.at(start).unwrap_or(Area { start, end, is_anonymous: true });
                is_ours = if end < area.end { found.end == end } else { found.start == start };
                if !is_ours {
                    return;
                }
            }
            *place = [start, end];
            self.count += 1;
        }
    }

    /// Forks copy it again. By the thread that marked it.
    pub fn bring_back(&self) {
        for [start, end] in self.pieces() {
            // It needs no room, so that it can only fail if there is no memory at all. Without it the program's children would lose theirs.
            for _ in 0..1000 {
                // SAFETY: as it was before.
                if unsafe { kernel::advise(*start, end - start, k::MADV_DOFORK) }.is_ok() {
                    break;
                }
                sys::sleep(1_000_000);
            }
        }
    }
}

/// Whether something may be left out, and is worth its while. A handler that comes now may change that.
pub fn is_worthwhile() -> bool {
    kernel::most_memory() >= LEAST_PROGRAM && has_one_thread()
}

fn has_one_thread() -> bool {
    kernel::threads() == Some(1)
}

/// Whether nobody but this thread can fork, as long as signals are blocked.
fn is_alone() -> bool {
    slots::is_owner() && has_one_thread()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_what_is_not_kept() {
        let mut keep = Keep::map().unwrap();
        let piece = |n: usize| n * GRAIN;
        assert_eq!(keep.gap(piece(1), piece(9)), Some([piece(1), piece(9)]));
        keep.add(piece(3) + 5, 10).unwrap();
        keep.add(piece(3) + 15, GRAIN).unwrap();
        keep.add(piece(8) - 1, 1).unwrap();
        assert_eq!(keep.gap(piece(1), piece(9)), Some([piece(1), piece(3)]));
        assert_eq!(keep.gap(piece(3), piece(9)), Some([piece(5), piece(7)]));
        assert_eq!(keep.gap(piece(7), piece(9)), Some([piece(8), piece(9)]));
        assert_eq!(keep.gap(piece(7), piece(8)), None);
        assert_eq!(keep.gap(piece(3), piece(5)), None);
        assert_eq!(keep.gap(piece(5), piece(6)), Some([piece(5), piece(6)]));
    }

    #[test]
    fn what_does_not_fit_is_said_and_what_overlaps_needs_no_room() {
        let mut keep = Keep::map().unwrap();
        for i in 0..1000 {
            keep.add(i * 7, 7).unwrap();
        }
        assert_eq!(keep.count, 1);
        let added = (1..1000).take_while(|i| keep.add(i * 4 * GRAIN, 1).is_some()).count();
        assert_eq!(added, MOST_RANGES - OWN_RANGES - 1);
        keep.add_own(1 << 40, 1);
        assert_eq!(keep.gap(1 << 40, (1 << 40) + GRAIN), None);
    }
}
