//! The seen set: which states units have met, in all processes of a build.
//!
//! In: keys ([`Narrow`], [`Wide`]). Out: whether they are new; a mapped file of each width ([`unseen_abi::seen`]), or memory that
//! children share. It never locks, never waits, never allocates, and survives the end of any process at any instruction.
//!
//! It may forget: what was just being put in when a process died; what has no place in a set that must not, or can't, grow. Then a test is
//! run again. It never invents: a key is found only if all its bits were stored. [`Format::mix`] is a bijection of 80 bits for
//! narrow keys and of 161 for others, the line's number always tells 14 of these bits, and the others are in the slot and are all
//! compared. So the probability that a state which was never put in is found is 0, for states that are keys themselves. For a state
//! whose key is a hash, it is the number of states over the number of hashes: with 2^32 states 2^-64 for hashes of 96 bits (narrow
//! keys whose unit is part of the hash; most of them are kept among the wide), and 2^-96 for those of 128 bits (wide keys). What is torn
//! does not count, see [`line`].
//!
//! [`line`] knows slots, [`table`] finds and grows, [`memory`] maps, [`import`] takes states of other stores over. [`whole`] gives numbers to
//! states that are not to be hashed.

mod import;
mod line;
mod memory;
mod table;
#[cfg(test)]
mod tests;
mod whole;

use crate::sys::Errno;
use core::ffi::CStr;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use memory::Memory;
use table::{Outcome, Table};
use unseen_abi::seen::{FIRST_LINES, Format, LINE, LINES_OFFSET, Mixed, NarrowFormat, WIDE_SUFFIX, WideFormat};
pub use unseen_abi::seen::{Key, Narrow, Wide};
#[allow(unused_imports, reason = "not for the benchmark")]
pub use whole::Whole;

/// How many bytes a set without a file has at most, if nothing else is said.
const WITHOUT_FILE: u64 = 256 << 20;

/// Why a file is not used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// It is no seen set.
    Foreign,
    /// It is of this version.
    Version(u32),
    /// It belongs to another build.
    OtherBuild,
    /// Its sizes can't be, or it is shorter than it says.
    Corrupt,
    /// It must not be written, or not be made.
    ReadOnly,
    /// A system call failed.
    System(Errno),
}

impl Refused {
    /// For people.
    pub fn text(&self) -> &'static [u8] {
        match self {
            Refused::Foreign => b"it is something else",
            Refused::Version(_) => b"it is of another version",
            Refused::OtherBuild => b"it belongs to another build",
            Refused::Corrupt => b"it is damaged",
            Refused::ReadOnly => b"it can't be written",
            Refused::System(_) => b"a system call failed",
        }
    }

    /// The error that goes with it.
    pub fn errno(&self) -> Errno {
        match self {
            Refused::System(why) => *why,
            Refused::ReadOnly => Errno::READ_ONLY,
            _ => Errno::INVALID,
        }
    }
}

impl From<Errno> for Refused {
    fn from(why: Errno) -> Refused {
        match why {
            Errno::READ_ONLY | Errno::NO_ACCESS => Refused::ReadOnly,
            other => Refused::System(other),
        }
    }
}

/// The set.
pub struct Seen {
    narrow: Table<NarrowFormat>,
    wide: Table<WideFormat>,
    /// The most bytes that both may have; 0: no limit.
    most: u64,
}

/// What the set can hold.
pub trait State: Copy {
    /// Puts it in; whether it was not there before.
    fn insert(self, seen: &Seen) -> bool;
    /// Whether it is there.
    fn is_in(self, seen: &Seen) -> bool;
}

impl Seen {
    /// Opens the files of a build, or makes them: one of that name, and one with [`WIDE_SUFFIX`]. Together they get no larger than `most`
    /// bytes, if that is not 0 nor less than two new files have; what they have already they keep.
    pub fn open(path: &CStr, id: &[u8; 16], most: u64) -> Result<Seen, Refused> {
        let lines = most / LINE as u64;
        let narrow = Memory::open(path, "", id, lines)?;
        let wide = Memory::open(path, WIDE_SUFFIX, id, lines)?;
        Ok(Seen { narrow: Table { memory: narrow }, wide: Table { memory: wide }, most })
    }

    /// A set without a file, for this process and its children.
    pub fn in_memory(most: u64) -> Result<Seen, Refused> {
        let most = if most == 0 { WITHOUT_FILE } else { most };
        let lines = most / LINE as u64;
        let (narrow, wide) = (Memory::anonymous(lines)?, Memory::anonymous(lines)?);
        Ok(Seen { narrow: Table { memory: narrow }, wide: Table { memory: wide }, most })
    }

    /// Puts a state in. Whether it was not there before: true also if it was forgotten, or has no place.
    #[inline(always)]
    pub fn insert(&self, key: impl State) -> bool {
        key.insert(self)
    }

    /// Whether a state is there.
    #[inline(always)]
    pub fn contains(&self, key: impl State) -> bool {
        key.is_in(self)
    }

    /// How many states were put in; those that were put in by several at once may count more than once, and those that
    /// are forgotten still count.
    #[allow(dead_code, reason = "for tests and the benchmark")]
    pub fn count(&self) -> u64 {
        self.narrow.count().wrapping_add(self.wide.count())
    }

    /// Where its memory lies, and how much it is.
    pub fn memory(&self) -> [(usize, usize); 2] {
        [self.narrow.memory.span(), self.wide.memory.span()]
    }

    /// How many bytes are in use.
    #[allow(dead_code, reason = "for tests and the benchmark")]
    pub fn bytes(&self) -> u64 {
        [self.narrow.room(), self.wide.room()].map(unseen_abi::seen::file_size).iter().sum()
    }

    /// How many lines one may have while the other has so many.
    fn most(&self, other: u64) -> u64 {
        if self.most == 0 {
            return u64::MAX;
        }
        let lines = self.most.saturating_sub(2 * LINES_OFFSET as u64) / LINE as u64;
        lines.saturating_sub(other).max(FIRST_LINES)
    }

    #[cold]
    #[inline(never)]
    fn insert_narrow(&self, mixed: Mixed) -> bool {
        if self.is_spilled(&mixed) {
            return false;
        }
        let most = self.most(self.wide.lines());
        match self.narrow.insert(&mixed, most) {
            Outcome::New => self.narrow.counted(most, &|mixed| self.spill(&mixed)),
            Outcome::Replaced => {}
            Outcome::NoPlace => self.spill(&mixed),
        }
        true
    }

    /// Whether a narrow key is among the wide.
    #[inline(never)]
    fn is_spilled(&self, mixed: &Mixed) -> bool {
        self.narrow.memory.header().spilled.load(Relaxed) != 0
            && WideFormat::mix(Key::Narrow(NarrowFormat::unmix(*mixed))).is_some_and(|m| self.wide.contains(&m))
    }

    /// A narrow key goes to the wide.
    fn spill(&self, mixed: &Mixed) {
        self.narrow.memory.header().spilled.store(1, SeqCst);
        self.insert_wide(Key::Narrow(NarrowFormat::unmix(*mixed)));
    }

    fn insert_wide(&self, key: Key) -> bool {
        // A key that can't be stored at all is always new.
        let Some(mixed) = WideFormat::mix(key) else { return true };
        if self.wide.contains(&mixed) {
            return false;
        }
        let most = self.most(self.narrow.lines());
        if self.wide.insert(&mixed, most) == Outcome::New {
            self.wide.counted(most, &|_| ());
        }
        true
    }

    fn has_wide(&self, key: Key) -> bool {
        WideFormat::mix(key).is_some_and(|mixed| self.wide.contains(&mixed))
    }
}

impl State for Narrow {
    #[inline(always)]
    fn insert(self, seen: &Seen) -> bool {
        match NarrowFormat::mix(self) {
            Some(mixed) => !seen.narrow.contains(&mixed) && seen.insert_narrow(mixed),
            None => seen.insert_wide(Key::Narrow(self)),
        }
    }

    #[inline(always)]
    fn is_in(self, seen: &Seen) -> bool {
        match NarrowFormat::mix(self) {
            Some(mixed) => seen.narrow.contains(&mixed) || seen.is_spilled(&mixed),
            None => seen.has_wide(Key::Narrow(self)),
        }
    }
}

impl State for Wide {
    #[inline(always)]
    fn insert(self, seen: &Seen) -> bool {
        seen.insert_wide(Key::Wide(self))
    }

    #[inline(always)]
    fn is_in(self, seen: &Seen) -> bool {
        seen.has_wide(Key::Wide(self))
    }
}
