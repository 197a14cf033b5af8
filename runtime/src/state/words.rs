//! The words of a state, as they are, for as long as it takes to give it a number. In memory of its own: the program's stack may be small.

use crate::sys;

/// How many there may be: a megabyte of them.
const MOST: usize = 1 << 17;

pub struct Words {
    at: *mut u64,
    count: usize,
    is_full: bool,
}

impl Words {
    pub fn map() -> Option<Words> {
        let at = sys::map_memory(MOST * size_of::<u64>()).ok()?.cast();
        Some(Words { at, count: 0, is_full: false })
    }

    pub fn add(&mut self, word: u64) {
        if self.count == MOST {
            self.is_full = true;
            return;
        }
        // SAFETY: below what was mapped.
        unsafe { self.at.add(self.count).write(word) };
        self.count += 1;
    }

    /// All that were added; none if there were too many.
    pub fn all(&self) -> Option<&[u64]> {
        // SAFETY: so many were written.
        (!self.is_full).then(|| unsafe { core::slice::from_raw_parts(self.at, self.count) })
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // SAFETY: mapped by us, and used by nobody any more.
        unsafe { sys::unmap_memory(self.at.cast(), MOST * size_of::<u64>()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_them_or_none() {
        let mut words = Words::map().unwrap();
        (0..MOST as u64).for_each(|word| words.add(word));
        assert!(words.all().unwrap().iter().copied().eq(0..MOST as u64));
        words.add(7);
        assert_eq!(words.all(), None);
    }
}
