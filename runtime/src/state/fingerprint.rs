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
use crate::sandbox::Keep;
use crate::sys;
use unseen_abi::sets::{Extent, Lies, Offset, Path, Sets};
use unseen_abi::state::{OPAQUE, StateRecord, Unit};

/// How many pieces of memory a state may have.
pub const RANGES: usize = 96;
/// How many pointers a path may stand for.
const POINTERS: usize = 64;
/// How many bytes a piece may have.
const LONGEST: usize = 1 << 16;
/// How long a text may be.
const LONGEST_TEXT: usize = 4096;
/// Nothing lies below.
const LOWEST: usize = 4096;
const WORD: usize = size_of::<usize>();

/// What a state is called.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// Up to 8 bytes.
    Narrow(u64),
    /// Up to 16 bytes, or a hash.
    Wide(u128),
}

/// The state of a unit; none if it can't be told, or does not decide what tests find. `words` are its arguments, or, if it is
/// exact, what its code found to be its state.
///
/// # Safety
/// The record is what the pass wrote, and its module stays.
pub unsafe fn state(record: &StateRecord, number: u32, unit: &Unit, words: &[u64]) -> Option<State> {
    if unit.flags & OPAQUE != 0 {
        return None;
    }
    match (unit.exact, words) {
        (0, _) => {}
        (1..=8, [state]) => return Some(State::Narrow(*state)),
        (_, [low, high]) => return Some(State::Wide(u128::from(*high) << 64 | u128::from(*low))),
        _ => return None,
    }
    // SAFETY: the caller's promise.
    let work = unsafe { Work::new(record, words) };
    let (reads, writes) = sets(number)?;
    work.hashed(unit, reads, writes)
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
    // SAFETY: the caller's promise.
    let mut work = unsafe { Work::new(record, arguments) };
    work.collect(sets(number)?.1)?;
    work.ranges.iter().take(work.count).for_each(|range| piece(range.start, range.length));
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
    // SAFETY: the caller's promise.
    let mut work = unsafe { Work::new(record, arguments) };
    let (reads, writes) = sets(number)?;
    work.collect(reads)?;
    let count = work.collect(writes)?;
    work.ranges.iter().take(count).try_for_each(|range| keep.add(range.start, range.length))
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
    /// Islands are numbered from 1 when they are met; all ranges of one have the same number.
    island: usize,
}

impl Range {
    fn end(&self) -> usize {
        self.start.saturating_add(self.length)
    }
}

/// A list of pointers.
struct Pointers {
    list: [usize; POINTERS],
    count: usize,
}

impl Pointers {
    fn new() -> Pointers {
        Pointers { list: [0; POINTERS], count: 0 }
    }

    fn all(&self) -> &[usize] {
        self.list.get(..self.count).unwrap_or_default()
    }

    /// Adds one unless it is there, or points nowhere.
    fn add(&mut self, pointer: usize) -> Option<()> {
        if pointer >= LOWEST && !self.all().contains(&pointer) {
            *self.list.get_mut(self.count)? = pointer;
            self.count += 1;
        }
        Some(())
    }
}

pub(super) struct Work<'a> {
    record: &'a StateRecord,
    pub(super) sets: Sets<'a>,
    arguments: &'a [u64],
    process: u32,
    ranges: [Range; RANGES],
    count: usize,
    /// Where pointers lie that are followed.
    words: [usize; RANGES],
    word_count: usize,
    islands: usize,
}

impl<'a> Work<'a> {
    /// # Safety
    /// As [`state`].
    pub(super) unsafe fn new(record: &'a StateRecord, arguments: &'a [u64]) -> Work<'a> {
        Work {
            record,
            // SAFETY: the caller's promise.
            sets: unsafe { record.sets.sets() },
            arguments,
            process: sys::process_id(),
            ranges: [Range { start: 0, length: 0, island: 0 }; RANGES],
            count: 0,
            words: [0; RANGES],
            word_count: 0,
            islands: 0,
        }
    }

    fn hashed(mut self, unit: &Unit, reads: u32, writes: u32) -> Option<State> {
        let read = self.collect(reads)?;
        self.collect(writes)?;
        let mut hash = Hash::new();
        for i in (0..64).filter(|i| unit.params >> i & 1 == 1) {
            let value = *self.arguments.get(i)?;
            match unit.pointers >> i & 1 {
                1 => self.fold_pointer(value as usize, &mut hash),
                _ => hash.word(value),
            }
        }
        for i in 0..self.count {
            self.fold_place(i, &mut hash);
        }
        for i in 0..read {
            self.fold(i, &mut hash);
        }
        Some(State::Wide(hash.finish()))
    }

    fn global(&self, number: u32) -> Option<usize> {
        let (lies, _) = self.sets.global(number)?;
        if lies == Lies::Elsewhere {
            return None;
        }
        // SAFETY: what the pass wrote stays while its module's code runs.
        unsafe { self.record.sets.address(lies) }
    }

    /// Adds the pieces of memory of a set; returns how many there are by now.
    fn collect(&mut self, set: u32) -> Option<usize> {
        for n in 0..self.sets.unit(set)?.places {
            self.pieces(set, n, |work, start, length| work.add(start, length))?;
        }
        Some(self.count)
    }

    /// Hands the pieces of memory that the n-th place of a set stands for to `each`.
    pub(super) fn pieces(
        &mut self,
        set: u32,
        n: u32,
        mut each: impl FnMut(&mut Self, usize, usize) -> Option<()>,
    ) -> Option<()> {
        let place = self.sets.place(set, n)?;
        if self.is_foreign(place.path)? {
            return Some(());
        }
        if let Path::Global(global) = self.sets.path(place.path)?
            && !matches!((place.offset, place.extent), (Offset::At(_), Extent::Bytes(_) | Extent::Text))
        {
            // All of it: its size is known.
            let size = self.sets.global(global)?.1;
            let start = self.global(global)?;
            return each(self, start, usize::try_from(size).ok().filter(|s| *s > 0)?);
        }
        let Offset::At(at) = place.offset else { return None };
        let mut pointers = Pointers::new();
        self.pointers(place.path, &mut pointers)?;
        for pointer in pointers.all() {
            let start = pointer.wrapping_add_signed(at as isize);
            let length = self.length(place.extent, start)?;
            each(self, start, length)?;
        }
        Some(())
    }

    /// Whether a path begins at what is the library's own, or is output: sets take that for no state.
    fn is_foreign(&self, mut path: u32) -> Option<bool> {
        loop {
            path = match self.sets.path(path)? {
                Path::Deref { from, .. } | Path::Closure { from, .. } | Path::Reach { from } => from,
                Path::Global(global) => return Some(self.sets.global(global)?.0 == Lies::Elsewhere),
                Path::Param(_) | Path::Variadic => return Some(false),
            }
        }
    }

    fn add(&mut self, start: usize, length: usize) -> Option<()> {
        if length > LONGEST {
            return None;
        }
        *self.ranges.get_mut(self.count)? = Range { start, length, island: 0 };
        self.count += 1;
        Some(())
    }

    fn length(&mut self, extent: Extent, start: usize) -> Option<usize> {
        Some(match extent {
            Extent::Bytes(n) => usize::try_from(n).ok()?,
            Extent::Text => self.text(start)?,
            Extent::ByParam { param, scale } => {
                usize::try_from(self.arguments.get(param as usize)?.checked_mul(scale)?).ok()?
            }
            Extent::ByMemory { path, at, size, scale } => {
                let mut pointers = Pointers::new();
                self.pointers(path, &mut pointers)?;
                let [pointer] = *pointers.all() else { return None };
                let value = self.number(pointer.wrapping_add_signed(at as isize), size as usize)?;
                usize::try_from(value.checked_mul(scale)?).ok()?
            }
            // Nobody knows here where objects end.
            Extent::Rest | Extent::Object => return None,
        })
    }

    fn number(&self, address: usize, size: usize) -> Option<u64> {
        let (mut word, size) = ([0], size.min(WORD));
        (sys::read_memory(self.process, address, &mut word, size) == size).then_some(u64::from_le(word[0]))
    }

    fn text(&self, start: usize) -> Option<usize> {
        let mut length = 0;
        while length < LONGEST_TEXT {
            let mut buffer = [0_u64; 8];
            let address = start.wrapping_add(length);
            // Not beyond what can be read together: the next page may be missing.
            let room = (64 - address % 64).min(64);
            let n = sys::read_memory(self.process, address, &mut buffer, room);
            let bytes = buffer.iter().flat_map(|w| w.to_le_bytes()).take(n);
            if let Some(zero) = bytes.into_iter().position(|b| b == 0) {
                return Some(length + zero + 1);
            }
            if n < room {
                return Some(length + n);
            }
            length += n;
        }
        None
    }

    /// The pointers of a path, and where they lie.
    fn pointers(&mut self, path: u32, out: &mut Pointers) -> Option<()> {
        match self.sets.path(path)? {
            Path::Param(i) => out.add(*self.arguments.get(i as usize)? as usize),
            Path::Global(global) => out.add(self.global(global)?),
            Path::Deref { from, at: Offset::At(at) } => {
                let mut base = Pointers::new();
                self.pointers(from, &mut base)?;
                for pointer in base.all() {
                    self.follow(pointer.wrapping_add_signed(at as isize), out)?;
                }
                Some(())
            }
            Path::Closure { from, first, count } => {
                self.pointers(from, out)?;
                let mut i = 0;
                while let Some(pointer) = out.all().get(i).copied() {
                    for n in first..first.checked_add(count)? {
                        let Offset::At(at) = self.sets.offset(n)? else { return None };
                        self.follow(pointer.wrapping_add_signed(at as isize), out)?;
                    }
                    i += 1;
                }
                Some(())
            }
            // Of all elements, of everything that is reached, and of unnamed arguments nobody knows here where they are.
            Path::Deref { .. } | Path::Reach { .. } | Path::Variadic => None,
        }
    }

    fn follow(&mut self, at: usize, out: &mut Pointers) -> Option<()> {
        if let Some(pointer) = self.number(at, WORD) {
            let known = self.words.get(..self.word_count)?.contains(&at);
            if !known {
                *self.words.get_mut(self.word_count)? = at;
                self.word_count += 1;
            }
            out.add(pointer as usize)?;
        }
        Some(())
    }

    /// The number of a range's island.
    fn island(&mut self, index: usize) -> usize {
        let Some(known) = self.ranges.get(index).map(|r| r.island) else { return 0 };
        if known > 0 {
            return known;
        }
        self.islands += 1;
        let number = self.islands;
        if let Some(range) = self.ranges.get_mut(index) {
            range.island = number;
        }
        // All that overlap with one that belongs to it, again and again.
        let count = self.count;
        let mut grew = true;
        while grew {
            grew = false;
            for i in 0..count {
                let Some(range) = self.ranges.get(i).copied() else { break };
                let all = self.ranges.get(..count).unwrap_or_default();
                let meets = |o: &Range| o.island == number && o.start < range.end() && range.start < o.end();
                if range.island == 0 && all.iter().any(meets) {
                    if let Some(range) = self.ranges.get_mut(i) {
                        range.island = number;
                    }
                    grew = true;
                }
            }
        }
        number
    }

    /// Where an address lies, told by islands; none if it lies in none.
    fn place(&mut self, address: usize) -> Option<(usize, usize)> {
        let all = self.ranges.get(..self.count).unwrap_or_default();
        let index = all.iter().position(|r| r.start <= address && address < r.end())?;
        let number = self.island(index);
        let all = self.ranges.get(..self.count).unwrap_or_default();
        let start = all.iter().filter(|r| r.island == number).map(|r| r.start).min()?;
        Some((number, address - start))
    }

    fn fold_pointer(&mut self, pointer: usize, hash: &mut Hash) {
        match self.place(pointer) {
            Some((island, offset)) => [1, island as u64, offset as u64].into_iter().for_each(|w| hash.word(w)),
            None => [2, pointer as u64].into_iter().for_each(|w| hash.word(w)),
        }
    }

    /// Folds where a piece of memory lies.
    fn fold_place(&mut self, index: usize, hash: &mut Hash) {
        let Some(range) = self.ranges.get(index).copied() else { return };
        let (island, offset) = self.place(range.start).unwrap_or_default();
        [island as u64, offset as u64, range.length as u64].into_iter().for_each(|w| hash.word(w));
    }

    /// Folds what a piece of memory holds.
    fn fold(&mut self, index: usize, hash: &mut Hash) {
        let Some(range) = self.ranges.get(index).copied() else { return };
        let mut at = range.start;
        while at < range.end() {
            let words = self.words.get(..self.word_count).unwrap_or_default();
            if words.contains(&at) && range.end() - at >= WORD {
                match self.number(at, WORD) {
                    Some(pointer) => self.fold_pointer(pointer as usize, hash),
                    None => hash.word(3),
                }
                at += WORD;
                continue;
            }
            // Up to the next pointer.
            let next = words.iter().copied().filter(|w| *w > at).min().unwrap_or(usize::MAX);
            let end = range.end().min(next);
            let mut buffer = [0_u64; 32];
            let length = (end - at).min(size_of_val(&buffer));
            let n = sys::read_memory(self.process, at, &mut buffer, length);
            hash.word(n as u64);
            buffer.iter().take(n.div_ceil(WORD)).for_each(|w| hash.word(*w));
            if n < length {
                // The unit can't read on, either.
                return;
            }
            at += length;
        }
    }
}

#[cfg(test)]
mod tests;
