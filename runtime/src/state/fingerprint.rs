//! Names the state that a unit is called in.
//!
//! In: what the pass told of the unit, and its arguments. Out: a [`State`]; the same for two calls only if what the unit and its tests
//! read was the same in both. It never writes, and whatever pointers say, it never faults.
//!
//! A state of a few bytes at fixed places is these bytes, which the unit's own code gathers. Any other is a hash of what its places hold, in the order of the set.
//! Where things lie does not count, only what leads where: places that overlap are one *island*, and a pointer that the set follows
//! counts as the number of its island, in the order in which they are met, and how far inside it points. What may be written belongs
//! to islands, too: whether a write changes what is read depends on it. A pointer that nobody follows counts as the number it is.

use super::hash::Hash;
use super::pieces::{PIECES, Walk};
use super::words::Words;
use crate::list::List;
use crate::memory::{Room, WORD};
use crate::sandbox::Keep;
use unseen_abi::state::{OPAQUE, StateRecord, Unit};

/// How many bytes a piece may have.
const LONGEST: usize = 1 << 16;

/// What a state is called.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// Up to 8 bytes.
    Narrow(u64),
    /// Up to 16 bytes, or a hash.
    Wide(u128),
}

/// The state of a unit; none if it can't be told, or does not decide what tests find. `words` are its arguments, or, if it is
/// exact, what its code found to be its state. What is hashed goes to `copy`, too.
///
/// # Safety
/// The record is what the pass wrote, and its module stays.
pub unsafe fn state(
    record: &StateRecord,
    number: u32,
    unit: &Unit,
    words: &[u64],
    copy: Option<&mut Words>,
) -> Option<State> {
    if unit.flags & OPAQUE != 0 {
        return None;
    }
    match (unit.exact, words) {
        (0, _) => {}
        (1..=8, [state]) => return Some(State::Narrow(*state)),
        (_, [low, high]) => return Some(State::Wide(u128::from(*high) << 64 | u128::from(*low))),
        _ => return None,
    }
    let mut room = Room::new();
    // SAFETY: the caller's promise.
    let mut work = unsafe { Work::new(record, words, &mut room) };
    let (reads, writes) = sets(number)?;
    work.hashed(unit, reads, writes, Hash::with_copy(copy))
}

/// Gives `piece` what a unit with these arguments may write: where it lies, and how long it is. None if that is not known.
///
/// # Safety
/// As [`state`].
pub unsafe fn written(
    record: &StateRecord,
    number: u32,
    arguments: &[u64],
    piece: &mut dyn FnMut(usize, usize),
) -> Option<()> {
    let mut room = Room::new();
    // SAFETY: the caller's promise.
    let mut work = unsafe { Work::new(record, arguments, &mut room) };
    work.collect(sets(number)?.1)?;
    work.ranges.iter().for_each(|range| piece(range.start, range.length));
    Some(())
}

/// Adds all memory that the state of a unit has, and what may be written; none if that can't be told.
///
/// # Safety
/// As [`state`].
pub unsafe fn keep(record: &StateRecord, number: u32, unit: &Unit, arguments: &[u64], keep: &mut Keep) -> Option<()> {
    if unit.flags & OPAQUE != 0 {
        return None;
    }
    let mut room = Room::new();
    // SAFETY: the caller's promise.
    let mut work = unsafe { Work::new(record, arguments, &mut room) };
    let (reads, writes) = sets(number)?;
    work.collect(reads)?;
    work.collect(writes)?;
    work.ranges.iter().try_for_each(|range| keep.add(range.start, range.length))
}

/// The numbers of a unit's sets: what is read, and what is written.
fn sets(number: u32) -> Option<(u32, u32)> {
    let reads = number.checked_mul(2)?;
    Some((reads, reads.checked_add(1)?))
}

/// Bytes of memory.
#[derive(Clone, Copy)]
struct Range {
    start: usize,
    length: usize,
}

impl Range {
    fn end(&self) -> usize {
        self.start.saturating_add(self.length)
    }
}

struct Work<'a> {
    walk: Walk<'a>,
    ranges: List<Range, PIECES>,
}

impl<'a> Work<'a> {
    /// # Safety
    /// As [`state`].
    unsafe fn new(record: &'a StateRecord, arguments: &'a [u64], room: &'a mut Room) -> Work<'a> {
        // SAFETY: the caller's promise.
        Work { walk: unsafe { Walk::new(record, arguments, room) }, ranges: List::new() }
    }

    /// Adds the pieces of memory of a set; returns how many there are by now.
    fn collect(&mut self, set: u32) -> Option<usize> {
        for n in 0..self.walk.places(set)? {
            self.walk.pieces(set, n, |start, length| {
                if length > LONGEST { None } else { self.ranges.push(Range { start, length }) }
            })?;
        }
        Some(self.ranges.len())
    }

    fn hashed(&mut self, unit: &Unit, reads: u32, writes: u32, mut hash: Hash<'_>) -> Option<State> {
        let read = self.collect(reads)?;
        self.collect(writes)?;
        let mut islands = Islands::new(&self.ranges)?;
        let mut params = unit.params;
        while params != 0 {
            let i = params.trailing_zeros();
            params &= params - 1;
            let value = *self.walk.steps.arguments.get(i as usize)?;
            match unit.pointers >> i & 1 {
                1 => islands.fold_pointer(value as usize, &mut hash),
                _ => hash.word(value),
            }
        }
        for range in self.ranges.iter() {
            let (island, offset) = islands.place(range.start).unwrap_or_default();
            [island as u64, offset as u64, range.length as u64].into_iter().for_each(|w| hash.word(w));
        }
        for i in 0..read {
            self.fold(*self.ranges.get(i)?, &mut islands, &mut hash);
        }
        self.walk.steps.memory.is_sure().then(|| State::Wide(hash.finish()))
    }

    /// Folds what a piece of memory holds.
    fn fold(&mut self, range: Range, islands: &mut Islands, hash: &mut Hash<'_>) {
        let steps = &mut self.walk.steps;
        let mut at = range.start;
        while at < range.end() {
            if steps.words.contains(&at) && range.end() - at >= WORD {
                match steps.memory.number(at, WORD) {
                    Some(pointer) => islands.fold_pointer(pointer as usize, hash),
                    None => hash.word(3),
                }
                at += WORD;
                continue;
            }
            // Up to the next pointer.
            let next = steps.words.iter().copied().filter(|w| *w > at).min().unwrap_or(usize::MAX);
            let end = range.end().min(next);
            let mut buffer = [0_u64; 32];
            let length = (end - at).min(size_of_val(&buffer));
            let words = buffer.get_mut(..length.div_ceil(WORD)).unwrap_or_default();
            let n = steps.memory.read(at, words, length);
            hash.word(n as u64);
            words.iter().take(n.div_ceil(WORD)).for_each(|w| hash.word(*w));
            if n < length {
                // The unit can't read on, either.
                return;
            }
            at += length;
        }
    }
}

/// Pieces that overlap, as one. They are numbered from 1 when they are met.
#[derive(Clone, Copy)]
struct Island {
    start: usize,
    end: usize,
    number: usize,
}

/// Islands, in the order of their addresses.
struct Islands {
    list: List<Island, PIECES>,
    met: usize,
}

impl Islands {
    fn new(ranges: &[Range]) -> Option<Islands> {
        let mut sorted = List::<Island, PIECES>::new();
        for range in ranges.iter().filter(|range| range.length > 0) {
            sorted.push(Island { start: range.start, end: range.end(), number: 0 })?;
            let mut rest = &mut sorted[..];
            while let [before @ .., last, new] = rest
                && last.start > new.start
            {
                core::mem::swap(last, new);
                let length = before.len() + 1;
                rest = rest.get_mut(..length)?;
            }
        }
        let mut list = List::<Island, PIECES>::new();
        for island in sorted.iter() {
            match list.last_mut() {
                Some(last) if island.start < last.end => last.end = last.end.max(island.end),
                _ => list.push(*island)?,
            }
        }
        Some(Islands { list, met: 0 })
    }

    /// Where an address lies, told by islands; none if it lies in none.
    fn place(&mut self, address: usize) -> Option<(usize, usize)> {
        let island = self.list.iter_mut().find(|island| address < island.end).filter(|i| i.start <= address)?;
        if island.number == 0 {
            self.met += 1;
            island.number = self.met;
        }
        Some((island.number, address - island.start))
    }

    fn fold_pointer(&mut self, pointer: usize, hash: &mut Hash<'_>) {
        match self.place(pointer) {
            Some((island, offset)) => [1, island as u64, offset as u64].into_iter().for_each(|w| hash.word(w)),
            None => [2, pointer as u64].into_iter().for_each(|w| hash.word(w)),
        }
    }
}

#[cfg(test)]
mod tests;
