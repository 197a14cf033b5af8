//! What is going on in one thread: which units are active, and which of them are watched. Found by the thread's pointer, since
//! the runtime has no thread-local storage of its own.

use super::bytes::{Bytes, LINE, bits};
use super::misses::Held;
use super::walk::Room;
use crate::{arch, sys};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use unseen_abi::access::AccessRecord;

/// How many threads may be watched in the life of a process; pointers of dead threads are used again.
const THREADS: usize = 1 << 10;
/// How many active units are known; deeper ones are not watched.
pub const DEPTH: usize = 1 << 12;
/// How many of them are watched at once.
pub const WATCHED: usize = 12;
/// How many lines are remembered as dealt with.
const RECENT: usize = 1 << 12;

/// A call that is watched.
#[repr(C)]
pub struct Watch {
    /// The top of its frame: what lies below is local to it and to what it calls.
    pub frame: usize,
    pub record: *const AccessRecord,
    pub unit: u32,
    /// What is the library's own is in its set.
    pub foreign: bool,
    /// Its number among the watches of the thread, in the order in which they began.
    pub number: u64,
    pub set: u64,
    pub read: u64,
    pub held: Held,
    pub bytes: Bytes,
}

/// A line of memory of which bytes were dealt with: reads were checked, or it was written. That holds for all watches that had
/// begun then.
#[repr(C)]
#[derive(Clone, Copy)]
struct Recent {
    /// The line's number plus one.
    line: usize,
    /// The number of the watch that was the innermost then.
    watch: u64,
    bytes: u64,
}

/// A thread. All zero at first.
#[repr(C)]
pub struct Thread {
    /// Set while a hook works: a signal handler that interrupts it finds it set.
    busy: AtomicBool,
    pub depth: usize,
    pub frames: [usize; DEPTH],
    pub units: [u32; DEPTH],
    /// The first so many are in use, outermost first.
    pub watching: usize,
    pub watches: [Watch; WATCHED],
    /// How many watches have begun, and the number of the innermost.
    pub begun: u64,
    innermost: u64,
    recent: [Recent; RECENT],
    pub room: Room,
    /// When the first of the watches began, in CPU time; and how many hooks were called since somebody looked at the clock.
    pub since: u64,
    pub ticks: u32,
    /// When somebody last looked where there is memory, in CPU time.
    pub looked: u64,
}

impl Thread {
    /// To be called when watches came or went.
    pub fn note_innermost(&mut self) {
        let last = self.watching.checked_sub(1).and_then(|last| self.watches.get(last));
        self.innermost = last.map_or(0, |watch| watch.number);
    }

    /// The number of the innermost watch for which these bytes of a line were dealt with; 0 if for none.
    pub fn dealt_with(&self, line: usize, bytes: u64) -> u64 {
        match self.recent.get(line % RECENT) {
            Some(recent) if recent.line == line + 1 && recent.bytes & bytes == bytes => recent.watch,
            _ => 0,
        }
    }

    /// Whether these bytes need not be looked at, for whatever watch.
    pub fn is_done(&self, address: usize, size: usize) -> bool {
        let start = address % LINE;
        start + size <= LINE && self.dealt_with(address / LINE, bits(start, size)) >= self.innermost
    }

    /// These bytes of a line are dealt with.
    pub fn deal_with(&mut self, line: usize, bytes: u64) {
        let innermost = self.innermost;
        let Some(recent) = self.recent.get_mut(line % RECENT) else { return };
        if recent.line == line + 1 && recent.watch >= innermost {
            recent.bytes |= bytes;
        } else {
            *recent = Recent { line: line + 1, watch: innermost, bytes };
        }
    }
}

struct Slot {
    key: AtomicUsize,
    thread: AtomicPtr<Thread>,
}

static SLOTS: [Slot; THREADS] =
    [const { Slot { key: AtomicUsize::new(0), thread: AtomicPtr::new(ptr::null_mut()) } }; THREADS];
/// The program has no thread pointer, hence one thread.
static ALONE: AtomicBool = AtomicBool::new(false);

/// To be called before the first hook of a module may be.
pub fn prepare() {
    ALONE.store(!arch::has_thread_pointer(), Ordering::Relaxed);
}

/// Calls `f` with this thread's state, unless a hook is already at work here or there is no room.
pub fn with<T>(f: impl FnOnce(&mut Thread) -> T) -> Option<T> {
    let thread = current()?;
    // SAFETY: never freed, and only this thread comes here; references end before the flag is taken back.
    let busy = unsafe { &(*thread).busy };
    if busy.swap(true, Ordering::Acquire) {
        return None;
    }
    // SAFETY: the flag was ours to take.
    let result = f(unsafe { &mut *thread });
    busy.store(false, Ordering::Release);
    Some(result)
}

fn current() -> Option<*mut Thread> {
    let key = if ALONE.load(Ordering::Relaxed) { 1 } else { arch::thread_pointer() };
    let start = (key >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    for i in 0..THREADS {
        let slot = SLOTS.get(start.wrapping_add(i) % THREADS)?;
        match slot.key.load(Ordering::Acquire) {
            found if found == key => return Some(slot.thread.load(Ordering::Acquire)).filter(|t| !t.is_null()),
            0 => {
                // Nobody else has this key, but others may want this slot.
                if slot.key.compare_exchange(0, key, Ordering::AcqRel, Ordering::Acquire).is_err() {
                    continue;
                }
                let thread = sys::map_memory(size_of::<Thread>()).ok()?.cast::<Thread>();
                slot.thread.store(thread, Ordering::Release);
                return Some(thread);
            }
            _ => {}
        }
    }
    None
}
