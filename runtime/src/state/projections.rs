//! What tests have taught about forks that leave memory out: which of them need more than their sets say.
//!
//! In: the misses of tests. Out: for the next fork of a test, what else it needs; or that it needs all.

use crate::sandbox::{self, Keep, MappedKeep};
use crate::sys;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

/// After so many misses a test always gets all memory.
const MOST_MISSES: usize = 3;

/// What is known of a test.
#[repr(C)]
pub struct Learned {
    misses: AtomicU32,
    /// Whether its next fork is to have all memory.
    is_due: AtomicU32,
    /// Where it went.
    places: [AtomicUsize; MOST_MISSES],
}

impl Learned {
    /// Adds what its set does not have. None: it gets all memory.
    pub fn add_to(&self, keep: &mut Keep) -> Option<()> {
        if self.is_due.load(Relaxed) != 0 || self.misses.load(Relaxed) as usize >= MOST_MISSES {
            return None;
        }
        self.places.iter().map(|place| place.load(Relaxed)).filter(|at| *at != 0).for_each(|at| keep.add_area(at));
        Some(())
    }

    /// It missed memory at that address. How often that was so before.
    pub fn miss(&self, address: u64) -> u32 {
        let before = self.misses.fetch_add(1, Relaxed);
        if let Some(place) = self.places.get(before as usize) {
            place.store(address as usize, Relaxed);
        }
        self.is_due.store(1, Relaxed);
        before
    }

    /// It came to an end.
    pub fn end(&self) {
        self.is_due.store(0, Relaxed);
    }
}

/// For all tests of a module.
pub struct Projections {
    list: &'static [Learned],
}

impl Projections {
    /// Nothing is known of so many tests. Without memory for it, none of them will be forked so.
    pub fn new(tests: u32) -> Projections {
        let size = (tests as usize).saturating_mul(size_of::<Learned>());
        let list = match sys::map_memory(size) {
            // SAFETY: fresh memory of that size, which stays; all zero is a value of the type.
            Ok(at) => unsafe { core::slice::from_raw_parts(at.cast::<Learned>(), tests as usize) },
            Err(_) => &[],
        };
        Projections { list }
    }

    /// What a fork for that test must have, if it may leave out the rest. `add` adds the memory of its state.
    pub fn keep(&self, test: u32, add: impl Fn(&mut Keep) -> Option<()>) -> Option<MappedKeep> {
        let learned = self.of(test).filter(|_| sandbox::is_worthwhile())?;
        let mut keep = Keep::map().ok()?;
        learned.add_to(&mut keep)?;
        add(&mut keep)?;
        Some(keep)
    }

    /// What is known of that test.
    pub fn of(&self, test: u32) -> Option<&'static Learned> {
        self.list.get(test as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_miss_is_followed_by_all_memory_and_three_by_nothing_else() {
        let projections = Projections::new(2);
        let test = projections.of(1).unwrap();
        let mut keep = Keep::map().unwrap();
        for misses in 0..3 {
            assert_eq!(test.add_to(&mut keep), Some(()));
            assert_eq!(test.miss(0x1000 + misses), misses as u32);
            assert_eq!(test.add_to(&mut keep), None);
            test.end();
        }
        assert_eq!(test.add_to(&mut keep), None);
        assert_eq!(projections.of(0).unwrap().add_to(&mut keep), Some(()));
        assert!(projections.of(2).is_none());
    }
}
