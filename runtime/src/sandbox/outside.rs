//! The test's side of a projection: what it does not have is kept free, so that nothing else comes to lie there, and whoever touches it
//! is told from who goes astray.
//!
//! In: [`Outside`]. Out: [`is_outside`], for the handler of faults.

use super::outcome::Reason;
use super::projection::{MOST_PIECES, Outside};
use crate::sys;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use linux_raw_sys::general as k;

/// From and to; all 0 in the program.
static PIECES: [[AtomicUsize; 2]; MOST_PIECES] = [const { [AtomicUsize::new(0), AtomicUsize::new(0)] }; MOST_PIECES];

/// Fills the gaps with memory that nobody can use. Before anything else is mapped.
pub fn hold(outside: &Outside) -> Result<(), Reason> {
    let flags = k::MAP_PRIVATE | k::MAP_ANONYMOUS | k::MAP_NORESERVE | k::MAP_FIXED_NOREPLACE;
    for ([start, end], [first, last]) in outside.pieces().iter().zip(&PIECES) {
        let arguments = [*start, end - start, k::PROT_NONE as usize, flags as usize, usize::MAX, 0];
        // SAFETY: nothing is there: the fork has left it out.
        let at = unsafe { sys::call(k::__NR_mmap, arguments) }.map_err(|why| Reason::Setup(why.0))?;
        if at != *start {
            // Kernels before 4.17 take it for a wish.
            return Err(Reason::Setup(sys::Errno::EXISTS.0));
        }
        first.store(*start, Relaxed);
        last.store(*end, Relaxed);
    }
    Ok(())
}

/// Whether the test lacks memory that the program has there.
pub fn is_outside(address: usize) -> bool {
    meets(address, 1)
}

/// Whether it lacks some of it.
pub fn meets(start: usize, length: usize) -> bool {
    let end = start.saturating_add(length);
    PIECES.iter().any(|[first, last]| start < last.load(Relaxed) && first.load(Relaxed) < end)
}
