//! The states of one width: finding them, putting them in, growing.
//!
//! What is in use, and whether states are on their way to new lines, is one word ([`Header::size`]). It goes from `n` lines to `n + 512` with
//! states on their way, then to `n + 512` without. Who looks for a state whose line is among the new ones meanwhile looks into its old
//! line, too. Who puts one in looks at the word again afterwards: if the state's line is another one now, it is put there as well. So
//! either he sees that lines were added, or whoever carries states over sees what he put in, and nothing that was put in gets lost.
//!
//! Whoever carries states over copies each before he takes the old one out. He may die at any time, and another does it again from the
//! start: what is copied already is found. That two do it at once is avoided, unless lines get full; then a state may be there twice.

use super::line::{Line, Put};
use super::memory::{LEAST, Memory};
use crate::{arch, sys};
use core::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use core::sync::atomic::fence;
use unseen_abi::seen::{BATCH, COUNTS, FIRST_LINES, Format, Mixed, aside, home, second, sources};

/// After so many states by one count it is looked whether there are lines enough.
const LOOK: u64 = 64;
/// For how long whoever carries states over is left alone, in ns. He may be dead.
const PATIENCE: u64 = 20_000_000;
/// How often it is begun again if the set grew meanwhile.
const ATTEMPTS: usize = 16;

/// What became of a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It is there now.
    New,
    /// It is, and another is forgotten for it.
    Replaced,
    /// It found no place.
    NoPlace,
}

/// The states of one width.
pub struct Table<F: Format> {
    pub memory: Memory<F>,
}

/// How many lines there are, and whether states are on their way to the last of them.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Size(u64);

impl Size {
    #[inline(always)]
    fn lines(self) -> u64 {
        self.0 >> 1
    }

    #[inline(always)]
    fn is_moving(self) -> bool {
        self.0 & 1 != 0
    }

    /// The line that states of this one may still be in.
    #[inline(always)]
    fn old_home(self, mixed: &Mixed, line: u64) -> Option<u64> {
        let before = self.lines().wrapping_sub(BATCH);
        // A first size is never moving; a header that says so all the same is not followed.
        let is_on_its_way = self.is_moving() && line >= before && before >= FIRST_LINES;
        is_on_its_way.then(|| home(mixed.class, mixed.words[0], before))
    }
}

impl<F: Format> Table<F> {
    /// The size; always one whose lines are mapped here. Another process may have a longer mapping, and use more lines than we have.
    #[inline(always)]
    fn size(&self) -> Size {
        self.checked(Size(self.memory.header().size.load(Acquire)))
    }

    /// The same, in one order with all that is written.
    fn size_in_order(&self) -> Size {
        self.checked(Size(self.memory.header().size.load(SeqCst)))
    }

    #[inline(always)]
    fn checked(&self, size: Size) -> Size {
        if size.0.wrapping_sub(LEAST) <= self.memory.range { size } else { self.nearest(size) }
    }

    #[cold]
    fn nearest(&self, size: Size) -> Size {
        Size(if size.0 < LEAST { LEAST } else { self.memory.largest & !1 })
    }

    #[inline(always)]
    fn line(&self, number: u64) -> &Line {
        self.memory.line(number)
    }

    /// Lines in use.
    pub fn lines(&self) -> u64 {
        self.size().lines()
    }

    /// For how many there is room.
    #[allow(dead_code, reason = "for tests and the benchmark")]
    pub fn room(&self) -> u64 {
        self.memory.header().room.load(Acquire)
    }

    /// How many states there are, about.
    pub fn count(&self) -> u64 {
        self.memory.header().counts.iter().fold(0, |sum, count| sum.wrapping_add(count.states.load(Relaxed)))
    }

    #[inline(always)]
    fn is_at(&self, line: u64, mixed: &Mixed) -> bool {
        let (first, second) = (self.line(line), self.line(line ^ second(mixed.words[0])));
        Line::is_in_either::<F>(first, second, mixed) || (first.overflows() && self.is_aside(line, *mixed))
    }

    #[inline(never)]
    fn is_aside(&self, line: u64, mixed: Mixed) -> bool {
        for i in 2..F::ASIDES {
            let other = self.line(line ^ aside(i, mixed.words[0]));
            if other.has::<F>(&mixed, i) {
                return true;
            }
            if !other.overflows() {
                return false;
            }
        }
        false
    }

    /// Whether a state is there.
    #[inline(always)]
    pub fn contains(&self, mixed: &Mixed) -> bool {
        let size = self.size();
        self.is_at(home(mixed.class, mixed.words[0], size.lines()), mixed) || self.contains_slowly(*mixed, size)
    }

    /// The same, after it was not found in its line at that size.
    #[inline(never)]
    fn contains_slowly(&self, mixed: Mixed, mut size: Size) -> bool {
        for _ in 0..ATTEMPTS {
            let line = home(mixed.class, mixed.words[0], size.lines());
            if size.old_home(&mixed, line).is_some_and(|old| self.is_at(old, &mixed)) {
                return true;
            }
            // It may have been carried over behind our back, between one look and the other. Who sees that it is gone sees
            // the size that was said before.
            fence(Acquire);
            let now = self.size();
            if now == size && !size.is_moving() {
                return false;
            }
            if self.is_at(home(mixed.class, mixed.words[0], now.lines()), &mixed) {
                return true;
            }
            if now == size {
                return false;
            }
            size = now;
        }
        false
    }

    /// Puts a state in, after it was not found. Among at most so many lines: when they are reached, others are forgotten.
    pub fn insert(&self, mixed: &Mixed, most: u64) -> Outcome {
        if !mixed.is_storable() {
            return Outcome::NoPlace;
        }
        for _ in 0..ATTEMPTS {
            let size = self.size();
            let line = home(mixed.class, mixed.words[0], size.lines());
            let outcome = self.put(line, mixed, most);
            // Its last write and this read are in one order with what whoever adds lines writes and reads.
            let now = self.size_in_order();
            let line_now = home(mixed.class, mixed.words[0], now.lines());
            if line_now == line || self.is_at(line_now, mixed) {
                return outcome;
            }
        }
        Outcome::NoPlace
    }

    fn most(&self, most: u64) -> u64 {
        most.min(self.memory.largest >> 1)
    }

    /// Whether no more lines will be added, and those that are there have all they are to have.
    fn is_full(&self, most: u64) -> bool {
        let lines = self.lines();
        (lines + BATCH > self.most(most) || self.memory.is_stuck()) && F::is_dense(self.count(), lines)
    }

    fn put(&self, line: u64, mixed: &Mixed, most: u64) -> Outcome {
        let (first, second) = (self.line(line), self.line(line ^ second(mixed.words[0])));
        // To the one with more room: then hardly any line gets full.
        let mut two = [(0, first), (1, second)];
        if second.room::<F>() > first.room::<F>() {
            two.reverse();
        }
        if two.iter().any(|(i, line)| line.put::<F>(mixed, *i) == Put::Done) {
            return Outcome::New;
        }
        if self.is_full(most) {
            return if first.replace::<F>(mixed) == Put::Done { Outcome::Replaced } else { Outcome::NoPlace };
        }
        first.set_overflow();
        for i in 2..F::ASIDES {
            let other = self.line(line ^ aside(i, mixed.words[0]));
            if other.put::<F>(mixed, i) == Put::Done {
                return Outcome::New;
            }
            other.set_overflow();
        }
        Outcome::NoPlace
    }

    /// A state was put in. Adds lines if it is time; `spill` takes states for which there is no place.
    pub fn counted(&self, most: u64, spill: &dyn Fn(Mixed)) {
        // Threads are told apart by their stacks, so that each has its own count if there are enough.
        let stack = (arch::stack_pointer() >> 14).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize);
        let Some(count) = self.memory.header().counts.get(stack >> 40 & (COUNTS - 1)) else { return };
        if count.states.fetch_add(1, Relaxed).wrapping_add(1).is_multiple_of(LOOK) {
            self.grow(most, spill);
        }
    }

    /// Adds lines if there are too few: only so many at a time that nobody notices. There will be another time soon.
    #[cold]
    #[inline(never)]
    fn grow(&self, most: u64, spill: &dyn Fn(Mixed)) {
        let header = self.memory.header();
        let size = self.size();
        let lines = size.lines();
        if size.is_moving() {
            let (since, now) = (header.since.load(SeqCst), sys::time());
            let is_ours = now.wrapping_sub(since) >= PATIENCE
                && header.since.compare_exchange(since, now, SeqCst, Relaxed).is_ok();
            // States don't wait for whoever was stopped, or died: lines would be full before the time is over.
            if is_ours || F::is_crowded(self.count(), lines) {
                self.carry(size, spill);
            }
            return;
        }
        if !F::is_dense(self.count(), lines) || lines + BATCH > self.most(most) {
            return;
        }
        if self.room() < lines + BATCH {
            // Enough for one call.
            return self.memory.make_room(lines + BATCH, self.most(most));
        }
        let next = Size((lines + BATCH) << 1 | 1);
        header.since.store(sys::time(), SeqCst);
        if header.size.compare_exchange(size.0, next.0, SeqCst, Relaxed).is_ok() {
            self.carry(next, spill);
        }
    }

    /// Carries states over to the last lines, and ends that.
    fn carry(&self, size: Size, spill: &dyn Fn(Mixed)) {
        let lines = size.lines();
        let first = lines.wrapping_sub(BATCH);
        if first < FIRST_LINES {
            return;
        }
        fence(SeqCst);
        let from = sources(first);
        for source in 0..from.count {
            let start = from.first + source * from.stride;
            // What found its line full is among them, too.
            for line in start..start + BATCH {
                for slot in 0..F::SLOTS {
                    if self.line(line).may_have::<F>(slot, from.bits, from.mask) {
                        self.carry_from(line, slot, first..lines, spill);
                    }
                }
            }
        }
        let _ = self.memory.header().size.compare_exchange(size.0, lines << 1, SeqCst, Relaxed);
    }

    fn carry_from(&self, line: u64, slot: usize, to: core::ops::Range<u64>, spill: &dyn Fn(Mixed)) {
        let here = self.line(line);
        let Some((old, mixed)) = here.get::<F>(line, slot) else { return };
        let new = home(mixed.class, mixed.words[0], to.end);
        if !to.contains(&new) || to.contains(&old) {
            return;
        }
        if !self.is_at(new, &mixed) && self.put(new, &mixed, u64::MAX) == Outcome::NoPlace {
            spill(mixed);
        }
        here.take_out::<F>(slot, &mixed);
    }
}
