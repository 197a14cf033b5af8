//! The gates of the modules: instrumented code calls hooks only while somebody watches.

use super::MODULES;
use core::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use unseen_abi::access::AccessRecord;

const OPEN: i32 = -1;

/// How many threads have watches.
static WATCHERS: AtomicUsize = AtomicUsize::new(0);

/// A thread begins to watch.
pub fn open() {
    WATCHERS.fetch_add(1, Ordering::SeqCst);
    apply();
}

/// A thread has no watches any more.
pub fn close() {
    WATCHERS.fetch_sub(1, Ordering::SeqCst);
    apply();
}

/// In a new child: other threads are not here.
pub fn after_fork(watches: bool) {
    WATCHERS.store(usize::from(watches), Ordering::SeqCst);
    apply();
}

/// Sets all gates as they should be; again if that changed meanwhile.
pub fn apply() {
    loop {
        let watched = WATCHERS.load(Ordering::SeqCst) > 0;
        let mut next = MODULES.load(Ordering::Acquire).cast_const();
        // SAFETY: entries live for ever and don't change.
        while let Some(module) = unsafe { next.as_ref() } {
            if !module.gone.load(Ordering::Relaxed) {
                set(module.record, if watched { OPEN } else { 0 });
            }
            next = module.next;
        }
        if (WATCHERS.load(Ordering::SeqCst) > 0) == watched {
            return;
        }
    }
}

fn set(record: *const AccessRecord, value: i32) {
    // SAFETY: the module is there, and with it its record and what that names; others only read it.
    if let Some(gate) = unsafe { (*record).gate.cast::<AtomicI32>().as_ref() } {
        gate.store(value, Ordering::SeqCst);
    }
}
