//! Which object an address belongs to: the variables of modules and what was allocated. What is allocated most goes to [`pages`]; all
//! else is found by the blocks of memory it lies in, small objects by small blocks, large ones by large blocks.
//!
//! What somebody else allocated (the C library for itself) is not known here.

use super::{pages, regions};
use crate::{arena, sys};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

const SMALL_BLOCK: usize = 256;
const LARGE_BLOCK: usize = 4096;
/// Up to this size an object is small.
const SMALL: usize = 1024;
const BUCKETS: usize = 1 << 16;
/// Objects with more blocks are not kept.
const MOST_BLOCKS: usize = 1 << 18;

/// What an object is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Heap,
    /// By number in its module.
    Variable(u32),
    /// A variable that never changes.
    Constant,
}

/// An object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Object {
    pub start: usize,
    pub size: usize,
    pub kind: Kind,
}

impl Object {
    /// Where it ends.
    pub fn end(&self) -> usize {
        self.start.saturating_add(self.size)
    }
}

/// An object in one of its blocks.
struct Node {
    object: Object,
    block: usize,
    next: *mut Node,
}

type Bucket = *mut Node;

static TABLE: AtomicPtr<Bucket> = AtomicPtr::new(ptr::null_mut());
static FREE: AtomicPtr<Node> = AtomicPtr::new(ptr::null_mut());
static LOCK: AtomicBool = AtomicBool::new(false);

/// The table while nobody else uses it.
struct Locked {
    table: *mut Bucket,
}

impl Drop for Locked {
    fn drop(&mut self) {
        LOCK.store(false, Ordering::Release);
    }
}

/// Takes the table. `None` if there is no memory, or if its owner does not come back (it died with its thread).
fn lock() -> Option<Locked> {
    let mut tries = 0_u32;
    while LOCK.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
        tries += 1;
        if tries > 1 << 16 {
            return None;
        }
        if tries.is_multiple_of(64) {
            sys::sleep(1000);
        }
        core::hint::spin_loop();
    }
    let mut locked = Locked { table: TABLE.load(Ordering::Acquire) };
    if locked.table.is_null() {
        locked.table = sys::map_memory(BUCKETS * size_of::<Bucket>()).ok()?.cast();
        TABLE.store(locked.table, Ordering::Release);
    }
    Some(locked)
}

/// To be called in a new child: whoever held the table is not here.
pub fn after_fork() {
    LOCK.store(false, Ordering::Release);
}

/// Adds an object. Others that lie there are gone.
pub fn insert(start: usize, size: usize, kind: Kind) {
    regions::note(start, start.saturating_add(size));
    if let Some(mut locked) = lock() {
        locked.insert(Object { start, size, kind });
    }
}

/// Removes the object that starts there.
pub fn remove(start: usize) {
    if let Some(mut locked) = lock() {
        locked.remove(start);
    }
}

/// The object that an address belongs to.
pub fn find(address: usize) -> Option<Object> {
    lock()?.find(address)
}

impl Locked {
    fn bucket(&self, block: usize) -> *mut Bucket {
        let hash = block.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        self.table.wrapping_add(hash % BUCKETS)
    }

    fn find(&self, address: usize) -> Option<Object> {
        let end = address.saturating_add(1);
        if let Some(object) = pages::overlapping(address, end) {
            return Some(object);
        }
        if !pages::has_others(address, end) {
            return None;
        }
        let is_it = |o: &Object| (o.start..o.end()).contains(&address);
        let [small, large] = [SMALL_BLOCK, LARGE_BLOCK].map(|size| number(address, size));
        self.find_in(small, is_it).or_else(|| self.find_in(large, is_it))
    }

    fn find_in(&self, block: usize, is_it: impl Fn(&Object) -> bool) -> Option<Object> {
        // SAFETY: the table has that bucket; nodes live for ever, and only the owner of the lock changes them.
        let mut node = unsafe { *self.bucket(block) };
        // SAFETY: as above.
        while let Some(here) = unsafe { node.as_ref() } {
            if here.block == block && is_it(&here.object) {
                return Some(here.object);
            }
            node = here.next;
        }
        None
    }

    fn insert(&mut self, object: Object) {
        if object.size == 0 || object.size / LARGE_BLOCK > MOST_BLOCKS {
            return;
        }
        while let Some(old) = pages::overlapping(object.start, object.end()) {
            pages::remove(&old);
        }
        if pages::has_others(object.start, object.end()) {
            for size in [SMALL_BLOCK, LARGE_BLOCK] {
                for block in blocks(&object, size) {
                    while let Some(old) = self.find_in(block, |o| o.start < object.end() && object.start < o.end()) {
                        self.take_out(old);
                    }
                }
            }
        }
        if pages::takes(&object) {
            return pages::insert(&object);
        }
        if !pages::note_other(&object) {
            return;
        }
        for block in blocks(&object, block_size(&object)) {
            let Some(node) = self.new_node() else { return };
            let bucket = self.bucket(block);
            // SAFETY: a node that nobody else has, and a bucket of the table.
            unsafe {
                node.write(Node { object, block, next: *bucket });
                *bucket = node;
            }
        }
    }

    fn remove(&mut self, start: usize) {
        if let Some(object) = pages::at(start) {
            return pages::remove(&object);
        }
        if !pages::has_others(start, start.saturating_add(1)) {
            return;
        }
        let [small, large] = [SMALL_BLOCK, LARGE_BLOCK].map(|size| number(start, size));
        let is_it = |o: &Object| o.start == start;
        if let Some(object) = self.find_in(small, is_it).or_else(|| self.find_in(large, is_it)) {
            self.take_out(object);
        }
    }

    fn take_out(&mut self, object: Object) {
        pages::forget_other(&object);
        for block in blocks(&object, block_size(&object)) {
            let mut link = self.bucket(block);
            // SAFETY: links are buckets or `next` fields of nodes, which live for ever; the lock is ours.
            unsafe {
                while let Some(node) = (*link).as_mut() {
                    if node.block == block && node.object.start == object.start {
                        let taken = *link;
                        *link = node.next;
                        node.next = FREE.load(Ordering::Relaxed);
                        FREE.store(taken, Ordering::Relaxed);
                        break;
                    }
                    link = &raw mut node.next;
                }
            }
        }
    }

    fn new_node(&mut self) -> Option<*mut Node> {
        let free = FREE.load(Ordering::Relaxed);
        if free.is_null() {
            return Some(arena::allocate(size_of::<Node>())?.cast::<Node>().as_ptr());
        }
        // SAFETY: in the list of free nodes, which the lock protects.
        FREE.store(unsafe { (*free).next }, Ordering::Relaxed);
        Some(free)
    }
}

fn block_size(object: &Object) -> usize {
    if object.size <= SMALL { SMALL_BLOCK } else { LARGE_BLOCK }
}

/// The number of the block of that size in which an address lies; blocks of different sizes have different numbers.
fn number(address: usize, size: usize) -> usize {
    address / size * 2 + usize::from(size == LARGE_BLOCK)
}

fn blocks(object: &Object, size: usize) -> impl Iterator<Item = usize> + use<> {
    let last = object.end().saturating_sub(1);
    (object.start / size..last / size + 1).map(move |block| number(block * size, size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn objects_are_found_as_in_a_sorted_map() {
        // Far from what other tests put in, and in two tables of pages.
        let base = 0x1234_00fe_0000_usize;
        let mut map: BTreeMap<usize, usize> = BTreeMap::new();
        let mut state = 7_u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        for _ in 0..50_000 {
            let align = if next(8) == 0 { 1 } else { 16 };
            let start = base + next(1 << 18) / align * align;
            if next(3) == 0 {
                remove(start);
                map.remove(&start);
            } else {
                let most = if next(20) == 0 { 40_000 } else { 200 };
                let size = 1 + next(most);
                insert(start, size, Kind::Heap);
                map.retain(|s, n| s + *n <= start || start + size <= *s);
                map.insert(start, size);
            }
            let probe = base + next(1 << 18);
            let expected = map.range(..=probe).next_back().filter(|(s, n)| probe < **s + **n);
            assert_eq!(find(probe).map(|o| (o.start, o.size)), expected.map(|(s, n)| (*s, *n)));
        }
    }

    #[test]
    fn an_empty_object_is_none() {
        insert(0x5000_0000_0000, 0, Kind::Constant);
        assert_eq!(find(0x5000_0000_0000), None);
    }
}
