//! Whether a unit does the same twice. In: two copies of the process that both call it. Out: a number for what each has done.
//!
//! Both copies are forked from the same state, and everything lies at the same place in both: so what is compared are bytes, those
//! of the result and of what the unit may write by its set.

use super::fingerprint;
use super::hash::Hash;
use super::pieces::PIECES;
use crate::{sandbox, sys};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use unseen_abi::state::StateRecord;

/// What the unit may write. There is one unit under test in a copy.
static WRITTEN: [[AtomicUsize; 2]; PIECES] = [const { [const { AtomicUsize::new(0) }; 2] }; PIECES];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The unit is about to be called.
///
/// # Safety
/// As [`fingerprint::state`].
pub unsafe fn begin(record: &StateRecord, number: u32, arguments: &[u64]) {
    let mut count = 0;
    // SAFETY: the caller's promise.
    let _ = unsafe {
        fingerprint::written(record, number, arguments, &mut |start, length| {
            if let Some([at, size]) = WRITTEN.get(count) {
                at.store(start, Relaxed);
                size.store(length, Relaxed);
                count += 1;
            }
        })
    };
    COUNT.store(count, Relaxed);
}

/// It has returned, with a result of so many bytes there.
pub fn end(result: usize, size: usize) -> ! {
    let mut hash = Hash::new();
    let process = sys::process_id();
    fold(process, result, size, &mut hash);
    for [at, size] in WRITTEN.iter().take(COUNT.load(Relaxed)) {
        fold(process, at.load(Relaxed), size.load(Relaxed), &mut hash);
    }
    let digest = hash.finish();
    sandbox::leave_with([digest as u64, (digest >> 64) as u64])
}

fn fold(process: u32, start: usize, length: usize, hash: &mut Hash<'_>) {
    let mut buffer = [0_u64; 64];
    let mut done = 0;
    while done < length {
        let want = (length - done).min(size_of_val(&buffer));
        buffer = [0; 64];
        let n = sys::read_memory(process, start.wrapping_add(done), &mut buffer, want);
        hash.word(n as u64);
        buffer.iter().take(n.div_ceil(8)).for_each(|word| hash.word(*word));
        if n < want {
            return;
        }
        done += n;
    }
}
