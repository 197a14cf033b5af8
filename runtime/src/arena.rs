//! Memory that is never given back: lock-free, all zero, not the program's.
//!
//! The first block is part of the runtime; more come from the kernel, when a program has very many modules.

use crate::sys;
use core::cell::UnsafeCell;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

const FIRST: usize = 8 * 1024;
const LATER: usize = 64 * 1024;
const ALIGN: usize = 8;

/// A block: this head, then what is handed out.
#[repr(C, align(8))]
struct Block {
    /// Bytes in use, this head included. May count past the end: then the block is full.
    used: AtomicUsize,
    size: usize,
}

#[repr(C, align(8))]
struct FirstBlock {
    head: UnsafeCell<Block>,
    rest: UnsafeCell<[u8; FIRST - size_of::<Block>()]>,
}

// SAFETY: only reached through `Block`, whose bytes are handed out once each.
unsafe impl Sync for FirstBlock {}

static FIRST_BLOCK: FirstBlock = FirstBlock {
    // `size` 0 stands for FIRST, so that the block is all zero and takes no room in the binary.
    head: UnsafeCell::new(Block { used: AtomicUsize::new(0), size: 0 }),
    rest: UnsafeCell::new([0; FIRST - size_of::<Block>()]),
};

/// The block that is being used up; null for the first.
static CURRENT: AtomicPtr<Block> = AtomicPtr::new(ptr::null_mut());

/// `size` bytes of zero, aligned for pointers, for ever. `None` if the kernel has no memory for us.
pub fn allocate(size: usize) -> Option<NonNull<u8>> {
    let size = size.checked_next_multiple_of(ALIGN)?;
    if size > LATER / 2 {
        return None;
    }
    loop {
        let current = CURRENT.load(Ordering::Acquire);
        let (block, limit) = if current.is_null() {
            (ptr::from_ref(&FIRST_BLOCK).cast_mut().cast::<Block>(), FIRST)
        } else {
            // SAFETY: blocks are never unmapped, and `size` never changes once a block is current.
            (current, unsafe { (*current).size })
        };
        // SAFETY: as above; `used` is atomic.
        let start = size_of::<Block>() + unsafe { &(*block).used }.fetch_add(size, Ordering::Relaxed);
        if start.saturating_add(size) <= limit {
            // SAFETY: inside the block, and handed out to nobody else.
            return NonNull::new(unsafe { block.cast::<u8>().add(start) });
        }
        add_block(current)?;
    }
}

/// Puts a fresh block in the place of `full`, unless somebody else already did.
fn add_block(full: *mut Block) -> Option<()> {
    let fresh = sys::map_memory(LATER).ok()?.cast::<Block>();
    // SAFETY: fresh memory of that size.
    unsafe { fresh.write(Block { used: AtomicUsize::new(0), size: LATER }) };
    if CURRENT.compare_exchange(full, fresh, Ordering::AcqRel, Ordering::Acquire).is_err() {
        // SAFETY: nobody has seen it.
        unsafe { sys::unmap_memory(fresh.cast(), LATER) };
    }
    Some(())
}

/// A copy of `bytes`.
pub fn keep(bytes: &[u8]) -> Option<&'static [u8]> {
    let to = allocate(bytes.len())?;
    // SAFETY: fresh memory of that size, which lives for ever.
    unsafe {
        ptr::copy_nonoverlapping(bytes.as_ptr(), to.as_ptr(), bytes.len());
        Some(core::slice::from_raw_parts(to.as_ptr(), bytes.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zero_aligned_and_handed_out_once() {
        let threads: Vec<_> = (0..4_u8)
            .map(|t| {
                std::thread::spawn(move || {
                    let mut mine = Vec::new();
                    for i in 0..3000 {
                        let size = i % 97;
                        let at = allocate(size).unwrap();
                        assert_eq!(at.addr().get() % ALIGN, 0);
                        // SAFETY: just allocated.
                        let slice = unsafe { core::slice::from_raw_parts_mut(at.as_ptr(), size) };
                        assert!(slice.iter().all(|b| *b == 0));
                        slice.fill(t + 1);
                        mine.push(slice);
                    }
                    assert!(mine.iter().all(|s| s.iter().all(|b| *b == t + 1)));
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
    }

    #[test]
    fn too_much_at_once_is_refused() {
        assert_eq!(allocate(LATER), None);
        assert_eq!(allocate(usize::MAX), None);
    }
}
