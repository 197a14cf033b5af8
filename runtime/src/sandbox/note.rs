//! What a test tells its supervisor: a few words of memory that both have. Each word of it is guarded by a number that is different
//! for each test: one that writes wildly does not come to a verdict by that.

use super::account::{self, Paper};
use super::outcome::{Missing, Reason};
use crate::sys::{self, Result};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::SeqCst};
use linux_raw_sys::general as k;

/// How far a test has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum State {
    /// It is being confined.
    SetUp = 1,
    /// It runs.
    Ready = 2,
    Passed = 3,
    Failed = 4,
    /// By a signal, at an address.
    Crashed = 5,
    /// It can't go on, for a reason.
    Environment = 6,
    /// It crashed where it has no memory.
    Strayed = 7,
}

/// The memory.
#[repr(C)]
pub struct Note {
    /// The state, xor the test's number.
    state: AtomicU64,
    details: [AtomicU64; 2],
    missing: AtomicU64,
    /// What else it says, if it did not pass.
    pub paper: Paper,
}

/// Bytes that are mapped for a note. A test that passes uses its first page only.
pub const LENGTH: usize = size_of::<Note>();

/// The note of this process, if it is a test, and its number.
static NOTE: AtomicPtr<Note> = AtomicPtr::new(ptr::null_mut());
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// A new note, shared with all forks from now on.
pub fn map(number: u64) -> Result<*mut Note> {
    let flags = (k::MAP_SHARED | k::MAP_ANONYMOUS) as usize;
    let arguments = [0, LENGTH, (k::PROT_READ | k::PROT_WRITE) as usize, flags, usize::MAX, 0];
    // SAFETY: the kernel chooses a free place.
    let note = unsafe { sys::call(k::__NR_mmap, arguments) }? as *mut Note;
    // SAFETY: fresh memory, all zero, of that size.
    unsafe { (*note).state.store(State::SetUp as u64 ^ number, SeqCst) };
    Ok(note)
}

/// This process is the test whose note that is.
pub fn adopt(note: *mut Note, number: u64) {
    NUMBER.store(number, SeqCst);
    NOTE.store(note, SeqCst);
    // SAFETY: no access, only the address of a part.
    account::adopt(unsafe { &raw mut (*note).paper });
}

fn mine() -> Option<&'static Note> {
    // SAFETY: null, or the note, which stays mapped.
    unsafe { NOTE.load(SeqCst).as_ref() }
}

/// The test begins.
pub fn tell_ready(missing: Missing) {
    if let Some(note) = mine() {
        note.missing.store(missing.0.into(), SeqCst);
        note.state.store(State::Ready as u64 ^ NUMBER.load(SeqCst), SeqCst);
    }
}

/// Tells how it ended. What was told first counts.
pub fn tell(state: State, a: u64, b: u64) {
    let Some(note) = mine() else { return };
    let number = NUMBER.load(SeqCst);
    let now = note.state.load(SeqCst);
    if now == State::Ready as u64 ^ number || now == State::SetUp as u64 ^ number {
        let [first, second] = &note.details;
        first.store(a, SeqCst);
        second.store(b, SeqCst);
        let _ = note.state.compare_exchange(now, state as u64 ^ number, SeqCst, SeqCst);
    }
}

/// Tells why it can't go on.
pub fn tell_reason(reason: Reason) {
    let (code, detail) = reason.encode();
    tell(State::Environment, code, detail);
}

/// What a note says. `None` if somebody has written over it.
pub fn read(note: &Note, number: u64) -> Option<(State, [u64; 2], Missing)> {
    let state = note.state.load(SeqCst) ^ number;
    let known =
        [State::SetUp, State::Ready, State::Passed, State::Failed, State::Crashed, State::Environment, State::Strayed];
    let state = known.into_iter().find(|known| *known as u64 == state)?;
    let [first, second] = &note.details;
    let missing = Missing(note.missing.load(SeqCst) as u32);
    Some((state, [first.load(SeqCst), second.load(SeqCst)], missing))
}
