//! What a unit's code finds before it calls the runtime: whether it is to ask at all, and states that need no test. In: the module's
//! record. Out: its desks ([`Desk`]), which the unit's own code reads.
//!
//! A place of a cache that holds no state holds one that belongs elsewhere: then no call finds it.

use super::fingerprint::State;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicI32, AtomicU8, AtomicU64};
use unseen_abi::state::{Desk, StateRecord, Unit, WIDE_PLACES, WIDE_WORDS, folded, place_of};

// What a place holds at first is 0. Only in the first place of all would that be found.
const _: () = assert!(place_of(0, WIDE_PLACES) == 0 && place_of(ELSEWHERE, WIDE_PLACES) != 0);
const ELSEWHERE: u64 = 1;

/// A unit's desk, and its gate.
#[derive(Clone, Copy)]
pub struct Own {
    desk: *mut Desk,
    gate: *mut u8,
}

/// The desk of a unit of that module.
pub fn of(record: &StateRecord, number: u32) -> Option<Own> {
    let is_one = number < record.units && !record.desks.is_null() && !record.gates.is_null();
    let number = number as usize;
    // SAFETY: the pass made as many of both as there are units.
    is_one.then(|| unsafe { Own { desk: record.desks.add(number), gate: record.gates.add(number) } })
}

impl Own {
    fn gate(&self) -> &AtomicU8 {
        // SAFETY: the module's variable, which is written here alone.
        unsafe { AtomicU8::from_ptr(self.gate) }
    }

    /// Whether the gate is ever open.
    fn use_of(&self) -> &AtomicI32 {
        // SAFETY: as above.
        unsafe { AtomicI32::from_ptr(&raw mut (*self.desk).is_used) }
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        // SAFETY: as above; the numbers are below that of the words.
        unsafe {
            AtomicU64::from_ptr((&raw mut (*self.desk).cache).cast::<u64>().add(index % (WIDE_PLACES * WIDE_WORDS)))
        }
    }

    /// Opens it for the first time, or keeps it closed for good.
    pub fn prepare(&self, is_used: bool) {
        self.word(1).store(ELSEWHERE, SeqCst);
        self.use_of().store(is_used.into(), SeqCst);
        self.reopen();
    }

    /// The unit asks again, if it ever does.
    pub fn reopen(&self) {
        self.gate().store((self.use_of().load(SeqCst) != 0).into(), SeqCst);
    }

    /// The unit does not ask for now.
    pub fn close(&self) {
        self.gate().store(0, SeqCst);
    }

    /// The unit need not ask in this state again. Others than exact ones of two words it remembers itself.
    pub fn remember(&self, unit: &Unit, state: State) {
        match state {
            State::Narrow(_) => {}
            State::Wide(_) if unit.exact == 0 => {}
            State::Wide(state) => {
                let (low, high) = (state as u64, (state >> 64) as u64);
                let first = place_of(folded(low, high), WIDE_PLACES) * WIDE_WORDS;
                let number = self.word(first).load(Acquire);
                // Odd while somebody writes; whoever reads meanwhile finds nothing.
                let is_ours = number & 1 == 0
                    && self.word(first).compare_exchange(number, number.wrapping_add(1), SeqCst, Relaxed).is_ok();
                if is_ours {
                    self.word(first + 1).store(low, SeqCst);
                    self.word(first + 2).store(high, SeqCst);
                    self.word(first).store(number.wrapping_add(2), Release);
                }
            }
        }
    }
}

/// All desks of a module.
pub fn all(record: &StateRecord) -> impl Iterator<Item = Own> {
    (0..record.units).filter_map(|number| of(record, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the code that the pass emits looks.
    fn finds(desk: &Desk, state: State) -> bool {
        let State::Wide(state) = state else { return false };
        let (low, high) = (state as u64, (state >> 64) as u64);
        let first = place_of(folded(low, high), WIDE_PLACES) * WIDE_WORDS;
        desk.cache[first] & 1 == 0 && desk.cache[first + 1..first + 3] == [low, high]
    }

    fn desk() -> Desk {
        Desk { is_used: 0, reserved: [0; 15], cache: [0; WIDE_PLACES * WIDE_WORDS] }
    }

    fn unit(exact: u32) -> Unit {
        Unit { params: 0, pointers: 0, first: 0, tests: 1, flags: 0, exact }
    }

    #[test]
    fn only_what_was_remembered_is_found() {
        let mut desk = desk();
        let mut gate = 0;
        let own = Own { desk: &raw mut desk, gate: &raw mut gate };
        let state = |i: u64| State::Wide(u128::from(i) << 60 | u128::from(i));
        own.prepare(true);
        assert!((0..10_000).all(|i| !finds(&desk, state(i))), "a new one is empty");
        let mut known = std::collections::HashSet::new();
        for i in 0..200 {
            own.remember(&unit(16), state(i));
            known.insert(state(i));
            assert!(finds(&desk, state(i)));
            assert!((0..400).all(|i| !finds(&desk, state(i)) || known.contains(&state(i))));
        }
        assert!((0..200).filter(|i| finds(&desk, state(*i))).count() > 8);
    }

    #[test]
    fn what_is_being_written_is_not_found() {
        let mut desk = desk();
        let mut gate = 0;
        let own = Own { desk: &raw mut desk, gate: &raw mut gate };
        own.prepare(true);
        let state = State::Wide(7 << 64 | 9);
        own.remember(&unit(16), state);
        assert!(finds(&desk, state));
        let first = place_of(folded(9, 7), WIDE_PLACES) * WIDE_WORDS;
        desk.cache[first] |= 1;
        assert!(!finds(&desk, state));
    }

    #[test]
    fn a_gate_that_is_never_open_stays_closed() {
        for is_used in [false, true] {
            let mut desk = desk();
            let mut gate = 0;
            let own = Own { desk: &raw mut desk, gate: &raw mut gate };
            own.prepare(is_used);
            assert_eq!(gate != 0, is_used);
            own.close();
            assert_eq!(gate, 0);
            own.reopen();
            assert_eq!(gate != 0, is_used);
        }
    }
}
