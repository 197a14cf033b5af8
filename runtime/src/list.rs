//! A list of at most so many entries, without an allocator. Room that is not used is not touched.

use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};

pub struct List<T: Copy, const N: usize> {
    entries: [MaybeUninit<T>; N],
    /// Never more than there is room for.
    count: usize,
}

impl<T: Copy, const N: usize> List<T, N> {
    pub const fn new() -> List<T, N> {
        List { entries: [const { MaybeUninit::uninit() }; N], count: 0 }
    }

    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Adds one; none if there is no room.
    pub fn push(&mut self, entry: T) -> Option<()> {
        self.entries.get_mut(self.count)?.write(entry);
        self.count += 1;
        Some(())
    }
}

impl<T: Copy, const N: usize> Deref for List<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: so many were written.
        unsafe { core::slice::from_raw_parts(self.entries.as_ptr().cast::<T>(), self.count) }
    }
}

impl<T: Copy, const N: usize> DerefMut for List<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { core::slice::from_raw_parts_mut(self.entries.as_mut_ptr().cast::<T>(), self.count) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_what_was_added_while_there_is_room() {
        let mut list = List::<u32, 3>::new();
        assert!(list.is_empty());
        assert!((1..=3).all(|n| list.push(n).is_some()));
        assert_eq!(list.push(4), None);
        list[0] = 7;
        assert_eq!(*list, [7, 2, 3]);
        list.clear();
        assert!(list.is_empty());
    }
}
