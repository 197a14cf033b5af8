//! Evaluates a unit's dependency set when it is entered: which bytes it names, in memory as it is then.
//!
//! Whatever pointers say, nothing here faults ([`Memory`]). An object that is not known is taken to reach
//! [`span::AROUND`] bytes to both sides of the pointer; one on the stack is the frame it lies in.

use super::bytes::Bytes;
use super::objects;
use crate::memory::Memory;
use unseen_abi::sets::{Extent, Lies, Offset, Path, Place, Sets, Table};

mod pointers;
mod span;
#[cfg(test)]
mod tests;

pub use pointers::Room;
use span::every;

/// How long a text may be, or what a number says; and how many bytes small pieces of one object may have.
pub const MOST: usize = 4 << 20;
/// A text that is longer is taken to reach to the end of its object: measuring it for each call would take longer than all else.
const LONG_TEXT: usize = 64 << 10;
/// How far an object may reach that nobody knows, over what nobody knows either.
const LOOSE: usize = 64 << 20;
/// Nothing lies below.
const LOWEST: usize = 4096;

/// Why a set can't be walked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    TooLarge,
    /// It refers to what can't be found: arguments in registers, a global of another module.
    Unknown,
}

/// A set of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Walked {
    pub bytes: u64,
    /// What is the library's own belongs to it.
    pub foreign: bool,
}

/// The call at whose beginning a set is walked.
pub struct Walk<'a> {
    pub sets: Sets<'a>,
    /// Where the sets come from.
    pub table: &'a Table,
    pub arguments: &'a [u64],
    /// The unit's frame.
    pub frame: usize,
    /// The frames of the thread, outermost first.
    pub frames: &'a [usize],
    /// Room to work in.
    pub room: &'a mut Room,
    /// Where the set goes.
    pub bytes: &'a mut Bytes,
    pub memory: Memory<'a>,
    /// How often memory was read, from 0.
    pub steps: u32,
}

impl Walk<'_> {
    /// Walks the set of a unit.
    pub fn run(mut self, unit: u32) -> Result<Walked, Stop> {
        let count = self.sets.unit(unit).ok_or(Stop::Unknown)?.places;
        let mut walked = Walked::default();
        for n in 0..count {
            let place = self.sets.place(unit, n).ok_or(Stop::Unknown)?;
            if self.is_foreign(place.path) {
                walked.foreign = true;
                continue;
            }
            self.place(place)?;
        }
        walked.bytes = self.bytes.seal();
        Ok(walked)
    }

    /// Whether a path begins at what is the library's own.
    fn is_foreign(&self, mut path: u32) -> bool {
        loop {
            path = match self.sets.path(path) {
                Some(Path::Deref { from, .. } | Path::Closure { from, .. } | Path::Reach { from }) => from,
                Some(Path::Global(g)) => return matches!(self.sets.global(g), Some((Lies::Elsewhere, _))),
                _ => return false,
            }
        }
    }

    fn place(&mut self, place: Place) -> Result<(), Stop> {
        let count = self.pointers(place.path, 0)?;
        for i in 0..count {
            let pointer = self.at(i);
            let length = self.length(place.extent, count)?;
            let all = matches!(length, Length::Object);
            match place.offset {
                Offset::At(at) if !all => self.span(pointer.wrapping_add_signed(at as isize), length)?,
                Offset::At(_) => self.object_of(pointer)?,
                Offset::Every { stride, .. } if all || matches!(length, Length::Bytes(n) if n as u64 >= stride) => {
                    self.object_of(pointer)?;
                }
                Offset::Every { stride, at } => {
                    let object = self.object(pointer);
                    if object.end() - object.start > MOST {
                        return Err(Stop::TooLarge);
                    }
                    if object.is_guess {
                        self.add_around(pointer);
                    }
                    for address in every(&object, pointer, stride, at) {
                        self.span(address, length)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn length(&mut self, extent: Extent, used: usize) -> Result<Length, Stop> {
        Ok(match extent {
            Extent::Bytes(n) => Length::Bytes(n as usize),
            Extent::Text => Length::Text,
            Extent::Rest => Length::Rest,
            Extent::Object => Length::Object,
            Extent::ByParam { param, scale } => {
                let value = self.arguments.get(param as usize).copied().ok_or(Stop::Unknown)?;
                Length::Bytes(usize::try_from(value.saturating_mul(scale)).unwrap_or(usize::MAX))
            }
            Extent::ByMemory { path, at, size, scale } => {
                let count = self.pointers(path, used)?;
                let mut most = 0;
                for i in used..used + count {
                    let value = self.memory.number(self.at(i).wrapping_add_signed(at as isize), size as usize);
                    most = value.unwrap_or(0).saturating_mul(scale).max(most);
                }
                Length::Bytes(usize::try_from(most).unwrap_or(usize::MAX))
            }
        })
    }

    /// Adds what begins there.
    fn span(&mut self, start: usize, length: Length) -> Result<(), Stop> {
        let size = match length {
            Length::Bytes(n) if n <= MOST => n,
            // Whoever passes such a number does not mean it, or the object ends before.
            Length::Bytes(_) | Length::Rest => {
                let object = self.object(start);
                if object.is_guess {
                    self.bytes.add_loose(start, LOOSE);
                }
                object.end().saturating_sub(start)
            }
            Length::Text => self.text(start),
            Length::Object => return self.object_of(start),
        };
        self.add(start, size)
    }

    fn text(&mut self, start: usize) -> usize {
        let measured = self.memory.text_length(start, LONG_TEXT);
        if measured < LONG_TEXT {
            return measured;
        }
        match objects::find(start) {
            Some(object) => object.end() - start,
            None => self.memory.text_length(start, MOST),
        }
    }

    fn object_of(&mut self, pointer: usize) -> Result<(), Stop> {
        if pointer < LOWEST {
            return Ok(());
        }
        let object = self.object(pointer);
        if object.is_guess {
            self.add_around(pointer);
        }
        self.add(object.start, object.end() - object.start)
    }

    /// Nobody knows the object that a pointer points into: it may be larger than what is taken for it.
    fn add_around(&mut self, pointer: usize) {
        self.bytes.add_loose(pointer.saturating_sub(LOOSE), 2 * LOOSE);
    }

    fn add(&mut self, start: usize, size: usize) -> Result<(), Stop> {
        if start < LOWEST {
            return Ok(());
        }
        self.bytes.add(start, size).map_err(|_| Stop::TooLarge)
    }
}

#[derive(Clone, Copy)]
enum Length {
    Bytes(usize),
    Text,
    Rest,
    Object,
}
