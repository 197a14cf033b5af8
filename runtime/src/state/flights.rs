//! Tests that are under way: so that the same test is not started twice for the same state, and so that the supervisor knows what it
//! finishes.

use super::Module;
use super::fingerprint::State;
use crate::sandbox::{Fail, Outcome};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::SeqCst};

/// At most so many at once; more than there are sandboxes.
const COUNT: usize = 128;

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const NARROW: u32 = 2;
const WIDE: u32 = 3;
const UNTOLD: u32 = 4;

/// A test that is under way.
pub struct Flight {
    /// [`FREE`], [`TAKEN`] while it is being filled in, else what its state is.
    kind: AtomicU32,
    test: AtomicU32,
    state: [AtomicU64; 2],
    module: AtomicPtr<Module>,
    /// How many copies of the process have not landed yet.
    copies: AtomicU32,
    /// What each of two has done, in one word: it is compared with the other's alone.
    told: [AtomicU64; 2],
    is_pair: AtomicBool,
    /// One of two did not pass, or could not be made.
    is_bad: AtomicBool,
}

/// What follows from the end of a copy of the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Landing {
    /// What the test has come to, if that is known now.
    pub outcome: Option<Outcome>,
    /// Whether no other copy is to come.
    pub is_last: bool,
}

static ALL: [Flight; COUNT] = [const {
    Flight {
        kind: AtomicU32::new(FREE),
        test: AtomicU32::new(0),
        state: [AtomicU64::new(0), AtomicU64::new(0)],
        module: AtomicPtr::new(ptr::null_mut()),
        copies: AtomicU32::new(0),
        told: [AtomicU64::new(0), AtomicU64::new(0)],
        is_pair: AtomicBool::new(false),
        is_bad: AtomicBool::new(false),
    }
}; COUNT];

impl Flight {
    /// Whether this test is under way in this state.
    pub fn is_under_way(module: &'static Module, test: u32, state: Option<State>) -> bool {
        let is_same = |flight: &Flight| {
            flight.test.load(SeqCst) == test
                && ptr::eq(flight.module.load(SeqCst), module)
                && state.is_some()
                && flight.state() == state
        };
        ALL.iter().any(is_same)
    }

    /// Notes that a test begins; nothing if too many are under way.
    pub fn begin(module: &'static Module, test: u32, state: Option<State>, copies: u32) -> Option<&'static Flight> {
        let free = |flight: &&Flight| flight.kind.compare_exchange(FREE, TAKEN, SeqCst, SeqCst).is_ok();
        let flight = ALL.iter().find(free)?;
        flight.test.store(test, SeqCst);
        flight.module.store(ptr::from_ref(module).cast_mut(), SeqCst);
        let (kind, low, high) = match state {
            Some(State::Narrow(state)) => (NARROW, state, 0),
            Some(State::Wide(state)) => (WIDE, state as u64, (state >> 64) as u64),
            None => (UNTOLD, 0, 0),
        };
        flight.state[0].store(low, SeqCst);
        flight.state[1].store(high, SeqCst);
        flight.copies.store(copies, SeqCst);
        flight.is_pair.store(copies > 1, SeqCst);
        flight.is_bad.store(false, SeqCst);
        flight.kind.store(kind, SeqCst);
        Some(flight)
    }

    /// The flight of that number, and which copy it is.
    pub fn of(number: usize) -> Option<(&'static Flight, usize)> {
        ALL.get(number / 2).filter(|flight| flight.kind.load(SeqCst) > TAKEN).map(|flight| (flight, number % 2))
    }

    /// Its number, for the first or the second copy.
    pub fn number(&'static self, copy: usize) -> usize {
        (ptr::from_ref(self).addr() - ALL.as_ptr().addr()) / size_of::<Flight>() * 2 + copy % 2
    }

    pub fn module(&self) -> Option<&'static Module> {
        // SAFETY: null, or a module that lives for ever.
        unsafe { self.module.load(SeqCst).as_ref() }
    }

    pub fn state(&self) -> Option<State> {
        let (low, high) = (self.state[0].load(SeqCst), self.state[1].load(SeqCst));
        match self.kind.load(SeqCst) {
            NARROW => Some(State::Narrow(low)),
            WIDE => Some(State::Wide(u128::from(high) << 64 | u128::from(low))),
            _ => None,
        }
    }

    /// A copy has ended like that, and told this. Of two copies the first that does not pass decides; if both pass, the last
    /// compares.
    pub fn land(&self, copy: usize, outcome: Outcome, told: [u64; 2]) -> Landing {
        let [low, high] = told;
        if let Some(place) = self.told.get(copy) {
            place.store(low ^ high.rotate_left(29), SeqCst);
        }
        let is_first_bad = outcome != Outcome::Pass && !self.is_bad.swap(true, SeqCst);
        let is_pair = self.is_pair.load(SeqCst);
        let is_last = self.copies.fetch_sub(1, SeqCst) == 1;
        let [one, other] = &self.told;
        let outcome = match outcome {
            _ if !is_pair || is_first_bad => Some(outcome),
            Outcome::Pass if is_last && !self.is_bad.load(SeqCst) => {
                Some(match one.load(SeqCst) == other.load(SeqCst) {
                    true => Outcome::Pass,
                    false => Outcome::Fail(Fail::Differs),
                })
            }
            _ => None,
        };
        Landing { outcome, is_last }
    }

    /// A copy could not be made.
    pub fn abandon(&self) {
        self.is_bad.store(true, SeqCst);
        if self.copies.fetch_sub(1, SeqCst) == 1 {
            self.end();
        }
    }

    /// It is over.
    pub fn end(&self) {
        self.kind.store(FREE, SeqCst);
    }
}

/// Forgets all of them: in a new process.
pub fn forget() {
    ALL.iter().for_each(Flight::end);
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASS: Outcome = Outcome::Pass;
    const CRASH: Outcome = Outcome::Crash { signal: 11, address: None };

    fn flight(copies: u32) -> Flight {
        Flight {
            kind: AtomicU32::new(UNTOLD),
            test: AtomicU32::new(0),
            state: [const { AtomicU64::new(0) }; 2],
            module: AtomicPtr::new(ptr::null_mut()),
            copies: AtomicU32::new(copies),
            told: [const { AtomicU64::new(0) }; 2],
            is_pair: AtomicBool::new(copies > 1),
            is_bad: AtomicBool::new(false),
        }
    }

    #[test]
    fn one_copy_decides_alone() {
        for outcome in [PASS, CRASH, Outcome::Timeout] {
            assert_eq!(flight(1).land(0, outcome, [1, 2]), Landing { outcome: Some(outcome), is_last: true });
        }
    }

    #[test]
    fn two_copies_pass_if_they_did_the_same() {
        for order in [[0, 1], [1, 0]] {
            for (told, outcome) in [([5, 6], PASS), ([5, 7], Outcome::Fail(Fail::Differs))] {
                let two = flight(2);
                assert_eq!(two.land(order[0], PASS, [5, 6]), Landing { outcome: None, is_last: false });
                assert_eq!(two.land(order[1], PASS, told), Landing { outcome: Some(outcome), is_last: true });
            }
        }
    }

    #[test]
    fn the_first_that_does_not_pass_decides() {
        let two = flight(2);
        assert_eq!(two.land(0, CRASH, [0; 2]), Landing { outcome: Some(CRASH), is_last: false });
        assert_eq!(two.land(1, PASS, [0; 2]), Landing { outcome: None, is_last: true });
        let two = flight(2);
        assert_eq!(two.land(0, PASS, [0; 2]), Landing { outcome: None, is_last: false });
        assert_eq!(two.land(1, CRASH, [0; 2]), Landing { outcome: Some(CRASH), is_last: true });
        let two = flight(2);
        assert_eq!(two.land(0, CRASH, [0; 2]).outcome, Some(CRASH));
        assert_eq!(two.land(1, Outcome::Timeout, [0; 2]), Landing { outcome: None, is_last: true });
    }

    #[test]
    fn one_without_the_other_decides_nothing() {
        let two = flight(2);
        two.abandon();
        assert_eq!(two.land(0, PASS, [0; 2]), Landing { outcome: None, is_last: true });
        let two = flight(2);
        assert_eq!(two.land(0, PASS, [0; 2]), Landing { outcome: None, is_last: false });
        two.abandon();
        assert_eq!(two.kind.load(SeqCst), FREE);
    }
}
