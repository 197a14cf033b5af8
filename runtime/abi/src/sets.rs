//! Dependency sets in a form that the runtime can walk without decoding. The pass writes them into programs (loaded); the runtime reads
//! them in place.

pub use crate::place::{Extent, Offset, Place};

/// The sets of a module's units, and what they refer to. A part of the records that the pass writes.
#[repr(C)]
#[derive(Debug)]
pub struct Table {
    /// As [`Sets`] reads them.
    pub words: *const u64,
    pub word_count: u64,
    /// All variables of the module that every thread shares.
    pub variables: *const Variable,
    pub variable_count: u64,
    /// Where a thread's own variable lies in this thread, by number; null if there is none.
    pub resolve: Option<extern "C" fn(u32) -> usize>,
}

const _: () = assert!(core::mem::size_of::<Table>() == 40);
const _: () = assert!(core::mem::offset_of!(Table, resolve) == 32);

impl Table {
    /// The sets.
    ///
    /// # Safety
    /// The table is what the pass wrote, and its module stays for `'a`.
    pub unsafe fn sets<'a>(&self) -> Sets<'a> {
        // SAFETY: the caller's promise.
        Sets(unsafe { slice(self.words, self.word_count) })
    }

    /// The variables.
    ///
    /// # Safety
    /// As [`Table::sets`].
    pub unsafe fn variables<'a>(&self) -> &'a [Variable] {
        // SAFETY: the caller's promise.
        unsafe { slice(self.variables, self.variable_count) }
    }

    /// Where a global lies in this thread.
    ///
    /// # Safety
    /// As [`Table::sets`].
    pub unsafe fn address(&self, lies: Lies) -> Option<usize> {
        match lies {
            // SAFETY: the caller's promise.
            Lies::Here(n) => unsafe { self.variables() }.get(n as usize).map(|v| v.address),
            Lies::Thread(n) => Some((self.resolve?)(n)),
            Lies::Elsewhere => None,
        }
    }
}

/// # Safety
/// So many of them lie there, or it is null.
unsafe fn slice<'a, T>(first: *const T, count: u64) -> &'a [T] {
    if first.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { core::slice::from_raw_parts(first, count as usize) }
}

/// A variable of the module.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    pub address: usize,
    /// In bytes; [`CONSTANT`] is set where it never changes.
    pub size: u64,
}

/// Flag in [`Variable::size`].
pub const CONSTANT: u64 = 1 << 63;

/// Flag in a unit's second word: its set may miss reads, so that there is nothing to check.
pub const HIDES: u64 = 1 << 32;
/// In the second word of a unit: its set may miss what a call reads that does not return.
pub const HIDES_AT_END: u64 = 1 << 33;
/// A global that lies elsewhere: its address is not known.
pub const NOWHERE: u64 = u64::MAX;
/// Flag in a global's first word: the number is that of a thread's own variable, for `resolve`.
pub const THREAD_LOCAL: u64 = 1 << 32;

const HEAD: usize = 4;
const GLOBAL: usize = 2;
const PATH: usize = 3;
const UNIT: usize = 2;
const ITEM: usize = 7;
const OFFSET: usize = 2;

/// A pointer at entry; as [`crate::deps::Path`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Path {
    Param(u32),
    Global(u32),
    Variadic,
    Deref {
        from: u32,
        at: Offset,
    },
    /// `at` are the offsets with these numbers; see [`Sets::offset`].
    Closure {
        from: u32,
        first: u32,
        count: u32,
    },
    Reach {
        from: u32,
    },
}

/// A unit's set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unit {
    /// How many places it has.
    pub places: u32,
    /// It may miss some.
    pub hides: bool,
    /// It may miss what a call reads that does not return.
    pub hides_at_end: bool,
}

/// Where a global lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lies {
    /// One of the variables that come with the sets.
    Here(u32),
    /// A thread's own, by number.
    Thread(u32),
    /// Not in this module.
    Elsewhere,
}

/// The sets of a module, read in place. What is out of range is not there.
#[derive(Clone, Copy)]
pub struct Sets<'a>(pub &'a [u64]);

impl Sets<'_> {
    fn word(&self, at: usize) -> Option<u64> {
        self.0.get(at).copied()
    }

    fn counts(&self) -> Option<[usize; HEAD]> {
        Some([self.word(0)? as usize, self.word(1)? as usize, self.word(2)? as usize, self.word(3)? as usize])
    }

    /// Where a global lies, and its size.
    pub fn global(&self, number: u32) -> Option<(Lies, u64)> {
        let [globals, ..] = self.counts()?;
        let number = number as usize;
        if number >= globals {
            return None;
        }
        let at = HEAD + number * GLOBAL;
        let lies = match self.word(at)? {
            NOWHERE => Lies::Elsewhere,
            n if n & THREAD_LOCAL != 0 => Lies::Thread(n as u32),
            n => Lies::Here(n as u32),
        };
        Some((lies, self.word(at + 1)?))
    }

    /// A path.
    pub fn path(&self, number: u32) -> Option<Path> {
        let [globals, paths, ..] = self.counts()?;
        let number = number as usize;
        if number >= paths {
            return None;
        }
        let at = HEAD + globals * GLOBAL + number * PATH;
        let (head, a, b) = (self.word(at)?, self.word(at + 1)?, self.word(at + 2)?);
        let from = (head >> 32) as u32;
        // A path refers to earlier ones only: walking it ends.
        if head as u32 > 2 && from as usize >= number {
            return None;
        }
        Some(match head as u32 {
            0 => Path::Param(a as u32),
            1 => Path::Global(a as u32),
            2 => Path::Variadic,
            3 => Path::Deref { from, at: offset(a, b) },
            4 => Path::Closure { from, first: a as u32, count: b as u32 },
            5 => Path::Reach { from },
            _ => return None,
        })
    }

    /// An offset of a closure.
    pub fn offset(&self, number: u32) -> Option<Offset> {
        let [globals, paths, units, offsets] = self.counts()?;
        let number = number as usize;
        if number >= offsets {
            return None;
        }
        let at = HEAD + globals * GLOBAL + paths * PATH + units * UNIT + number * OFFSET;
        Some(offset(self.word(at)?, self.word(at + 1)?))
    }

    /// What is known of a unit's set.
    pub fn unit(&self, number: u32) -> Option<Unit> {
        let [globals, paths, units, _] = self.counts()?;
        let number = number as usize;
        if number >= units {
            return None;
        }
        let second = self.word(HEAD + globals * GLOBAL + paths * PATH + number * UNIT + 1)?;
        Some(Unit { places: second as u32, hides: second & HIDES != 0, hides_at_end: second & HIDES_AT_END != 0 })
    }

    /// The n-th place of a unit's set.
    pub fn place(&self, unit: u32, n: u32) -> Option<Place> {
        let [globals, paths, units, offsets] = self.counts()?;
        let index = HEAD + globals * GLOBAL + paths * PATH;
        let first = self.word(index + unit as usize * UNIT)? as usize;
        let at = index + units * UNIT + offsets * OFFSET + (first + n as usize) * ITEM;
        let word = |i: usize| self.word(at + i);
        let (a, b, c) = (word(4)?, word(5)?, word(6)?);
        let tag = word(3)?;
        let extent = match tag as u32 {
            0 => Extent::Bytes(a),
            1 => Extent::Text,
            2 => Extent::Rest,
            3 => Extent::Object,
            4 => Extent::ByParam { param: a as u32, scale: b },
            5 => Extent::ByMemory { path: (tag >> 32) as u32, at: a as i64, size: b, scale: c },
            _ => return None,
        };
        Some(Place { path: word(0)? as u32, offset: offset(word(1)?, word(2)?), extent })
    }
}

fn offset(stride: u64, at: u64) -> Offset {
    if stride == 0 { Offset::At(at as i64) } else { Offset::Every { stride, at } }
}

#[cfg(any(feature = "std", test))]
mod encoding;
#[cfg(any(feature = "std", test))]
pub use encoding::words;
