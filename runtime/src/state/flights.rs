//! Tests that are under way: so that the same test is not started twice for the same state, and so that the supervisor knows what it
//! finishes.

use super::Module;
use super::fingerprint::State;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::SeqCst};

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
}

static ALL: [Flight; COUNT] = [const {
    Flight {
        kind: AtomicU32::new(FREE),
        test: AtomicU32::new(0),
        state: [AtomicU64::new(0), AtomicU64::new(0)],
        module: AtomicPtr::new(ptr::null_mut()),
    }
}; COUNT];

impl Flight {
    /// Notes that a test begins; nothing if the same is under way, or too many are.
    pub fn begin(module: &'static Module, test: u32, state: Option<State>) -> Option<&'static Flight> {
        let is_same = |flight: &Flight| {
            flight.test.load(SeqCst) == test
                && ptr::eq(flight.module.load(SeqCst), module)
                && state.is_some()
                && flight.state() == state
        };
        if ALL.iter().any(is_same) {
            return None;
        }
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
        flight.kind.store(kind, SeqCst);
        Some(flight)
    }

    /// The flight of that number.
    pub fn of(number: usize) -> Option<&'static Flight> {
        ALL.get(number).filter(|flight| flight.kind.load(SeqCst) > TAKEN)
    }

    /// Its number.
    pub fn number(&'static self) -> usize {
        (ptr::from_ref(self).addr() - ALL.as_ptr().addr()) / size_of::<Flight>()
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

    /// It is over.
    pub fn end(&self) {
        self.kind.store(FREE, SeqCst);
    }
}

/// Forgets all of them: in a new process.
pub fn forget() {
    ALL.iter().for_each(Flight::end);
}
