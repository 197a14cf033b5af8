//! Paths to pointers: the values that a path stands for, in memory as it is now.

use super::span::every;
use super::{LOWEST, Stop, Walk};
use crate::access::{objects, regions};
use crate::memory::WORD;
use unseen_abi::sets::{Offset, Path};

/// How many pointers a walk may follow at once.
const POINTERS: usize = 1 << 14;
/// How many pieces of memory it may read.
const STEPS: u32 = 1 << 15;
/// Room for the pointers that are known; a power of two.
const SEEN: usize = 2 * POINTERS;

/// What a walk works with. All zero at first.
#[repr(C)]
pub struct Room {
    list: [usize; POINTERS],
    /// Which pointers are in the part of the list that is being filled: those that carry its number.
    seen: [(usize, u64); SEEN],
    part: u64,
}

#[cfg(test)]
impl Room {
    pub(super) fn new() -> Box<Room> {
        Box::new(Room { list: [0; POINTERS], seen: [(0, 0); SEEN], part: 0 })
    }
}

impl Walk<'_> {
    pub(super) fn at(&self, i: usize) -> usize {
        self.room.list.get(i).copied().unwrap_or(0)
    }

    fn step(&mut self) -> Result<(), Stop> {
        self.steps += 1;
        if self.steps > STEPS { Err(Stop::TooLarge) } else { Ok(()) }
    }

    /// Appends to the list behind its first `end` entries; returns the new end.
    fn push(&mut self, end: usize, pointer: usize) -> Result<usize, Stop> {
        if pointer < LOWEST || !regions::may_be(pointer) {
            return Ok(end);
        }
        *self.room.list.get_mut(end).ok_or(Stop::TooLarge)? = pointer;
        Ok(end + 1)
    }

    /// As [`Walk::push`], unless the part that was begun has it.
    fn push_new(&mut self, end: usize, pointer: usize) -> Result<usize, Stop> {
        if self.is_known(pointer) { Ok(end) } else { self.push(end, pointer) }
    }

    /// A part of the list begins with the entries from `from` to `end`.
    fn begin(&mut self, from: usize, end: usize) {
        self.room.part += 1;
        for i in from..end {
            self.is_known(self.at(i));
        }
    }

    /// Whether the part has that pointer; from now on it has.
    fn is_known(&mut self, pointer: usize) -> bool {
        let start = pointer.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24;
        // Never full: it has room for twice as many as the list.
        for at in start..start + SEEN {
            let Some(slot) = self.room.seen.get_mut(at % SEEN) else { return false };
            if slot.1 != self.room.part {
                *slot = (pointer, self.room.part);
                return false;
            }
            if slot.0 == pointer {
                return true;
            }
        }
        false
    }

    /// Puts the pointers of a path into the list behind the first `used` entries; returns how many there are.
    pub(super) fn pointers(&mut self, path: u32, used: usize) -> Result<usize, Stop> {
        let mut end = used;
        match self.sets.path(path).ok_or(Stop::Unknown)? {
            Path::Param(i) => {
                let value = self.arguments.get(i as usize).copied().ok_or(Stop::Unknown)?;
                end = self.push(end, value as usize)?;
            }
            Path::Global(g) => {
                let address = self.global(g).ok_or(Stop::Unknown)?;
                end = self.push(end, address)?;
            }
            Path::Variadic => end = self.push(end, self.frame)?,
            Path::Deref { from, at } => {
                self.known(from)?;
                let count = self.pointers(from, used)?;
                end += count;
                self.begin(end, end);
                for i in used..used + count {
                    end = self.follow(self.at(i), at, end)?;
                }
                for i in used + count..end {
                    let pointer = self.at(i);
                    if let Some(place) = self.room.list.get_mut(i - count) {
                        *place = pointer;
                    }
                }
                end -= count;
            }
            Path::Closure { from, first, count } => {
                self.known(from)?;
                end += self.pointers(from, used)?;
                self.begin(used, end);
                let mut i = used;
                while i < end {
                    for n in first..first.saturating_add(count) {
                        let at = self.sets.offset(n).ok_or(Stop::Unknown)?;
                        end = self.follow(self.at(i), at, end)?;
                    }
                    i += 1;
                }
            }
            Path::Reach { from } => {
                end += self.pointers(from, used)?;
                self.begin(used, end);
                let mut i = used;
                while i < end {
                    end = self.reach(self.at(i), end)?;
                    i += 1;
                }
            }
        }
        Ok(end - used)
    }

    /// What unnamed arguments point to can't be told: they are in registers.
    fn known(&self, path: u32) -> Result<(), Stop> {
        if self.sets.path(path) == Some(Path::Variadic) { Err(Stop::Unknown) } else { Ok(()) }
    }

    fn global(&self, number: u32) -> Option<usize> {
        // SAFETY: what the pass wrote stays while its module's code runs.
        unsafe { self.table.address(self.sets.global(number)?.0) }
    }

    /// Appends the pointers that lie there, unless the part has them.
    fn follow(&mut self, pointer: usize, at: Offset, mut end: usize) -> Result<usize, Stop> {
        match at {
            Offset::At(at) => {
                self.step()?;
                let next = self.memory.number(pointer.wrapping_add_signed(at as isize), WORD).unwrap_or(0);
                self.push_new(end, next as usize)
            }
            Offset::Every { stride, at } => {
                let object = self.object(pointer);
                for address in every(&object, pointer, stride, at) {
                    self.step()?;
                    let next = self.memory.number(address, WORD).unwrap_or(0);
                    end = self.push_new(end, next as usize)?;
                }
                Ok(end)
            }
        }
    }

    /// Appends the objects that the words of an object point into.
    fn reach(&mut self, pointer: usize, mut end: usize) -> Result<usize, Stop> {
        let object = self.object(pointer);
        let mut address = object.start.next_multiple_of(WORD);
        let mut buffer = [0_u64; 32];
        while address < object.end() {
            let room = (object.end() - address).min(size_of_val(&buffer));
            let n = self.memory.read(address, &mut buffer, room) / WORD;
            for word in buffer.get(..n).unwrap_or_default() {
                let pointer = *word as usize;
                self.step()?;
                if pointer < LOWEST || !regions::may_be(pointer) {
                    continue;
                }
                // An object counts once, whichever of its bytes is pointed to.
                let known = objects::find(pointer).map(|o| o.start);
                let on_stack = known.is_none() && self.stack(pointer).is_some();
                if known.is_some() || on_stack || self.memory.read(pointer, &mut [0], 1) == 1 {
                    end = self.push_new(end, known.unwrap_or(pointer))?;
                }
            }
            address += room.max(WORD);
        }
        Ok(end)
    }
}
