//! The modules that are in this process: a list that only grows, without locks, usable at any moment after a fork.
//!
//! An entry belongs to a file's path for ever and is used again when a module from that file comes back: a program that
//! loads and unloads plug-ins all day needs no more entries than it has plug-ins at once.

use crate::{arena, sys};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::SeqCst};
use unseen_abi::module::ModuleRecord;

/// An entry.
pub struct Module {
    /// Null while no module uses this entry.
    record: AtomicPtr<ModuleRecord>,
    /// Whether the counters are mapped to a file.
    is_recording: AtomicBool,
    /// The file it was loaded from; empty if that is not known.
    pub path: &'static [u8],
    next: *mut Module,
}

static FIRST: AtomicPtr<Module> = AtomicPtr::new(ptr::null_mut());

/// How many threads are looking at records right now; see [`visit_recording`].
static VISITORS: AtomicUsize = AtomicUsize::new(0);

/// How many milliseconds a module that leaves waits for visitors.
const PATIENCE: u32 = 100;

fn all() -> impl Iterator<Item = &'static Module> {
    // SAFETY: entries live for ever, and `next` does not change once an entry is in the list.
    let entry = |at: *mut Module| unsafe { at.as_ref() };
    core::iter::successors(entry(FIRST.load(SeqCst)), move |module| entry(module.next))
}

/// Whether a module has entered and not left.
pub fn is_there(record: &ModuleRecord) -> bool {
    all().any(|module| ptr::eq(module.record.load(SeqCst), record))
}

/// Enters a module. `None` if it is already there, or if there is no memory for it.
pub fn enter(record: &'static ModuleRecord, path: &[u8]) -> Option<&'static Module> {
    if is_there(record) {
        return None;
    }
    let record = ptr::from_ref(record).cast_mut();
    let claim = |module: &&Module| {
        module.path == path && module.record.compare_exchange(ptr::null_mut(), record, SeqCst, SeqCst).is_ok()
    };
    if let Some(module) = all().find(claim) {
        return Some(module);
    }
    let path = arena::keep(path)?;
    let place = arena::allocate(size_of::<Module>())?.cast::<Module>();
    let mut first = FIRST.load(SeqCst);
    loop {
        let (record, is_recording) = (AtomicPtr::new(record), AtomicBool::new(false));
        // SAFETY: fresh memory of that size and alignment, which nobody else knows yet.
        unsafe { place.write(Module { record, is_recording, path, next: first }) };
        match FIRST.compare_exchange(first, place.as_ptr(), SeqCst, SeqCst) {
            // SAFETY: from now on it only changes through its atomics.
            Ok(_) => return Some(unsafe { place.as_ref() }),
            Err(newer) => first = newer,
        }
    }
}

/// Forgets a module, whose memory may be gone when this returns.
pub fn leave(record: *const ModuleRecord) {
    for module in all().filter(|module| ptr::eq(module.record.load(SeqCst), record)) {
        module.is_recording.store(false, SeqCst);
        module.record.store(ptr::null_mut(), SeqCst);
    }
    // Somebody may be looking at it. That takes microseconds; but should a visitor never come back (a signal handler jumped
    // out of it), leaving must not hang the program either.
    for _ in 0..PATIENCE {
        if VISITORS.load(SeqCst) == 0 {
            break;
        }
        sys::sleep(1_000_000);
    }
}

/// Whether any module is being recorded.
pub fn any_recording() -> bool {
    all().any(|module| module.is_recording.load(SeqCst))
}

/// Calls `f` for each module that is being recorded. Its record stays valid meanwhile.
pub fn visit_recording(mut f: impl FnMut(&'static Module, &ModuleRecord)) {
    VISITORS.fetch_add(1, SeqCst);
    for module in all().filter(|module| module.is_recording.load(SeqCst)) {
        // SAFETY: null, or a record whose module has not left, or waits in `leave` for us.
        if let Some(record) = unsafe { module.record.load(SeqCst).as_ref() } {
            f(module, record);
        }
    }
    VISITORS.fetch_sub(1, SeqCst);
}

/// To be called in a new child: the parent's other threads, and what they were doing, are not here.
pub fn after_fork() {
    VISITORS.store(0, SeqCst);
}

impl Module {
    /// Says that the counters are mapped to a file.
    pub fn set_recording(&self) {
        self.is_recording.store(true, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unseen_abi::mechanism::Mechanisms;

    fn record() -> &'static ModuleRecord {
        let record = ModuleRecord {
            size: size_of::<ModuleRecord>() as u32,
            mechanisms: Mechanisms::DEFAULT,
            id: [0; 16],
            counters: ptr::null_mut(),
            counter_count: 0,
            epoch: ptr::null_mut(),
        };
        Box::leak(Box::new(record))
    }

    fn recorded(record: &ModuleRecord) -> usize {
        let mut n = 0;
        visit_recording(|_, r| n += usize::from(ptr::eq(r, record)));
        n
    }

    #[test]
    fn a_module_is_visited_from_set_recording_until_it_leaves() {
        let r = record();
        let module = enter(r, b"/visited").unwrap();
        assert_eq!((module.path, recorded(r)), (&b"/visited"[..], 0));
        module.set_recording();
        assert_eq!(recorded(r), 1);
        assert!(any_recording());
        assert!(enter(r, b"/visited").is_none(), "entered twice");
        leave(r);
        assert_eq!(recorded(r), 0);
        leave(r);
    }

    #[test]
    fn entries_are_used_again_by_the_same_path_only() {
        let (a, b) = (record(), record());
        let first = enter(a, b"/again").unwrap();
        assert!(!ptr::eq(first, enter(b, b"/again").unwrap()), "the entry is taken");
        leave(a);
        assert!(!ptr::eq(first, enter(a, b"/other").unwrap()));
        leave(a);
        assert!(ptr::eq(first, enter(a, b"/again").unwrap()));
        assert_eq!(recorded(a), 0, "a module that comes back is not recording by itself");
    }

    #[test]
    fn threads_that_enter_and_leave_at_once_lose_nothing() {
        let threads: Vec<_> = (0..4)
            .map(|t| {
                std::thread::spawn(move || {
                    let mine: Vec<_> = (0..50).map(|_| record()).collect();
                    for _ in 0..20 {
                        for r in &mine {
                            enter(r, format!("/thread{t}").as_bytes()).unwrap().set_recording();
                        }
                        assert!(mine.iter().all(|r| recorded(r) == 1));
                        mine.iter().for_each(|r| leave(*r));
                        assert!(mine.iter().all(|r| recorded(r) == 0));
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
    }
}
