//! How much of the program's time goes into checking: beyond a first while, a share of the CPU time of the process. Functions that
//! were never checked get as much as that first while again, so that those which are called late are not left out because of those
//! which are called often.

use crate::sys;
use core::sync::atomic::{AtomicU64, Ordering};

/// That much is spent whatever the share is, in ns: programs that run for a moment are checked completely.
const FIRST: u64 = 200_000_000;
/// All of it.
const ALL: u64 = 100;

/// In per cent.
static SHARE: AtomicU64 = AtomicU64::new(ALL);
/// What was spent by watches that are over.
static SPENT: AtomicU64 = AtomicU64::new(0);

/// Sets the share, in per cent.
pub fn set(share: u64) {
    SHARE.store(share, Ordering::Relaxed);
}

/// CPU time of the process, in ns.
pub fn now() -> u64 {
    sys::cpu_time()
}

/// A time of watching, from `since` until now, is over.
pub fn spent(since: u64) {
    SPENT.fetch_add(now().saturating_sub(since), Ordering::Relaxed);
}

/// Whether watching may go on that began at `since`; `fresh` if it is for what was never checked.
pub fn allows(since: u64, fresh: bool) -> bool {
    let share = SHARE.load(Ordering::Relaxed);
    if share >= ALL {
        return true;
    }
    let now = now();
    let spent = SPENT.load(Ordering::Relaxed).saturating_add(now.saturating_sub(since));
    // What is spent does not make the program's own time longer.
    let own = (now.saturating_sub(spent) / ALL).saturating_mul(share);
    spent <= own.saturating_add(if fresh { 2 * FIRST } else { FIRST })
}
