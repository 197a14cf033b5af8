//! A unit is called. In: its record, its arguments or its state. Out: what its code is to do: go on, run a test (in a copy of the
//! process), run tests when it returns, or call who rescues it.

use super::desks::{self, Own};
use super::fingerprint::{self, State};
use super::flights::Flight;
use super::settings::Policy;
use super::{Module, budget, finish, module, tell_strange, units, values};
use crate::arch::Caller;
use crate::sandbox::{self, Job, Keep, Side};
use crate::{run, sys};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use unseen_abi::state::{AFTER, DUE_WORDS, HITS, Kind, RESCUE, SEEN, SPREAD, StateRecord, TRACED, Tally, Unit};

/// How long a caller waits before it looks again whether there is room for another test, in ns.
const PAUSE: i64 = 50_000;
/// Of so many checks one is timed; a power of two. With a budget it is more of them: a unit whose time is up must not go on for long.
const TIMED: u64 = 256;
const TIMED_BY_BUDGET: u64 = 16;

/// What the runtime knows of a call.
#[derive(Clone, Copy)]
struct Call<'a> {
    module: &'static Module,
    number: u32,
    unit: &'static Unit,
    desk: Own,
    state: Option<State>,
    /// Its arguments, or its state; none if they are not known any more.
    words: Option<&'a [u64]>,
    /// Its code.
    caller: Caller,
}

/// A unit is called: what its code is to do. `room` has these words, and, if the unit has tests for when it returns, room for
/// [`DUE_WORDS`].
pub fn call(
    record: &'static StateRecord,
    number: u32,
    room: *mut u64,
    count: usize,
    hits: *mut u32,
    caller: Caller,
) -> i32 {
    if sandbox::is_test() {
        return 0;
    }
    let (Some(module), Some(unit), Some(desk)) =
        (module(record), units(record).get(number as usize), desks::of(record, number))
    else {
        return 0;
    };
    let is_counted = count_hits(module, unit, hits);
    if is_counted {
        budget::look(module, unit.first, desk);
    }
    // SAFETY: so many words lie there, on the caller's stack.
    let words = unsafe { core::slice::from_raw_parts(room.cast_const(), count) };
    let mut timed = Timed::begin(module, unit);
    let (words, trace) = parted(unit, words);
    let trace = trace.filter(|_| module.has_hashes());
    let state = trace.or_else(|| module.state(number, unit, words));
    let is_new = |test: u32| state.is_none_or(|state| !module.has_seen(test, state));
    let all = unit.first..unit.first.saturating_add(unit.tests);
    let first_new = all.clone().find(|test| is_new(*test));
    for test in all.clone().filter(|_| !is_counted) {
        module.tallies.add(test, Tally::Calls, 1);
    }
    timed.end(module, unit, desk);
    let call = Call { module, number, unit, desk, state, words: Some(words), caller };
    let policy = module.settings.policy;
    match (policy, first_new, state) {
        (Policy::Never, ..) => 0,
        (Policy::Unseen | Policy::Watch, None, Some(state)) => {
            desk.remember(unit, state);
            if trace.is_some() || matches!(state, State::Narrow(_)) { SEEN } else { 0 }
        }
        (Policy::Watch, ..) => call.watch(all),
        (Policy::Unseen | Policy::Always, ..) => call.test(all, room),
    }
}

/// A unit's arguments, and its trace, if it has one, as a state.
fn parted<'a>(unit: &Unit, words: &'a [u64]) -> (&'a [u64], Option<State>) {
    match words {
        [arguments @ .., low, high] if unit.flags & TRACED != 0 => {
            let trace = u128::from(*high) << 64 | u128::from(*low);
            (arguments, (*high != 0).then_some(State::Wide(trace)))
        }
        _ => (words, None),
    }
}

/// Adds the calls that did not have to ask. Whether this one is among them, and asks only because there are so many.
fn count_hits(module: &Module, unit: &Unit, hits: *mut u32) -> bool {
    if hits.is_null() {
        return false;
    }
    // SAFETY: the thread's own variable.
    let count = unsafe { hits.replace(0) };
    for test in unit.first..unit.first.saturating_add(unit.tests) {
        module.tallies.add(test, Tally::Calls, count.into());
    }
    budget::spend_hits(module, unit.first, count.into());
    count >= HITS
}

/// Where this thread counts for a unit of that module.
fn hits_here(module: &Module, number: usize) -> *mut u32 {
    let first = module.record().hits.map_or(0, |hits| hits(0)) as *mut u32;
    if first.is_null() { first } else { first.wrapping_add(number) }
}

/// Adds what this thread has counted, when the module leaves.
pub fn count_all_hits(module: &Module) {
    for (number, unit) in units(module.record()).iter().enumerate() {
        count_hits(module, unit, hits_here(module, number));
    }
}

/// What the parent has counted is not ours.
pub fn forget_hits(module: &Module) {
    for number in 0..units(module.record()).len() {
        let hits = hits_here(module, number);
        if !hits.is_null() {
            // SAFETY: the thread's own variable.
            unsafe { hits.write(0) };
        }
    }
}

/// The CPU time that a check takes, for one of many.
struct Timed {
    /// When it began, or 0.
    start: u64,
    overhead: u64,
    /// For how many checks it stands. The first takes much longer than others: it stands for itself.
    count: u64,
}

impl Timed {
    fn begin(module: &Module, unit: &Unit) -> Timed {
        let calls = module.tallies.get(unit.first, Tally::Calls);
        let of = if module.settings.budget == 0 { TIMED } else { TIMED_BY_BUDGET };
        if calls & (of - 1) != 0 || run::is_locked_in() {
            return Timed { start: 0, overhead: 0, count: 0 };
        }
        // Looking at the clock takes time, too.
        let before = sys::thread_time();
        let start = sys::thread_time();
        Timed { start, overhead: start.saturating_sub(before), count: calls.clamp(1, of) }
    }

    fn end(&mut self, module: &'static Module, unit: &Unit, desk: Own) {
        if self.start == 0 {
            return;
        }
        let took = sys::thread_time().saturating_sub(self.start).saturating_sub(self.overhead);
        module.tallies.add(unit.first, Tally::Checks, 1);
        module.tallies.add(unit.first, Tally::Check, took);
        // With looking at clocks.
        let all = took.saturating_mul(self.count).saturating_add(self.overhead.saturating_mul(5));
        budget::checks(module, unit.first, desk, all);
    }
}

impl Call<'_> {
    /// The program is only watched.
    fn watch(self, mut tests: core::ops::Range<u32>) -> i32 {
        let Call { module, unit, state, .. } = self;
        let Some(state) = state else {
            module.tallies.add(unit.first, Tally::Untold, 1);
            return 0;
        };
        let before = module.tallies.add(unit.first, Tally::Strange, 1);
        let rescue = tests.find(|test| module.kind(*test) == Kind::Rescue);
        tell_strange(module, unit.first, state, rescue.is_some(), before);
        match rescue {
            Some(_) => {
                module.tallies.add(unit.first, Tally::Rescued, 1);
                RESCUE
            }
            None => 0,
        }
    }

    /// Starts tests, or notes that they are due.
    fn test(self, tests: core::ops::Range<u32>, room: *mut u64) -> i32 {
        let mut due = 0_u64;
        for test in tests {
            let which = test - self.unit.first;
            match self.module.kind(test) {
                Kind::Before | Kind::Determinism => {
                    if self.start(test) == Side::Test {
                        return which as i32 + 1;
                    }
                }
                Kind::After if which < 64 && !self.is_done(test) => due |= 1 << which,
                Kind::After => {}
                // What is seen while others are tested is not strange later.
                Kind::Rescue | Kind::Watch => {
                    if let Some(state) = self.state.filter(|state| !self.module.has_seen(test, *state))
                        && !run::is_locked_in()
                    {
                        self.module.note_seen(test, state);
                    }
                }
            }
        }
        if due == 0 {
            return 0;
        }
        let (kind, low, high) = match self.state {
            None => (0, 0, 0),
            Some(State::Narrow(state)) => (1, state, 0),
            Some(State::Wide(state)) => (2, state as u64, (state >> 64) as u64),
        };
        // SAFETY: the room is that large if the unit has tests of this kind.
        unsafe { room.cast::<[u64; DUE_WORDS]>().write([due, kind, low, high]) };
        AFTER
    }

    /// Whether nothing is to be done in this state, because it was seen.
    fn is_done(&self, test: u32) -> bool {
        let is_seen = self.state.is_some_and(|state| self.module.has_seen(test, state));
        is_seen && self.module.settings.policy == Policy::Unseen
    }

    /// Starts a test unless its state was seen, or others come first.
    fn start(&self, test: u32) -> Side {
        let is_under_way =
            || self.module.settings.policy == Policy::Unseen && Flight::is_under_way(self.module, test, self.state);
        if self.is_done(test) || is_under_way() {
            return Side::Host;
        }
        if run::is_locked_in() {
            self.module.tallies.add(test, Tally::Skipped, 1);
            return Side::Host;
        }
        if !is_sampled(self.module.settings.sample) || !budget::allows(self.module, test, self.desk) {
            self.module.tallies.add(test, Tally::Spared, 1);
            return Side::Host;
        }
        let copies = if self.module.kind(test) == Kind::Determinism { 2 } else { 1 };
        let Some(flight) = Flight::begin(self.module, test, self.state, copies) else {
            self.module.tallies.add(test, Tally::Skipped, 1);
            return Side::Host;
        };
        let is_seen = self.state.is_some_and(|state| self.module.has_seen(test, state));
        // Its test came to an end since it was looked for, among those under way or before that.
        if is_seen && self.module.settings.policy == Policy::Unseen {
            (0..copies).for_each(|_| flight.abandon());
            return Side::Host;
        }
        if !is_seen {
            let tally = if self.state.is_some() { Tally::Unseen } else { Tally::Untold };
            self.module.tallies.add(test, tally, 1);
        }
        for copy in 0..copies as usize {
            match self.split(test, flight.number(copy)) {
                Side::Host => {}
                Side::Test => {
                    self.introduce();
                    return Side::Test;
                }
                other => {
                    self.module.tallies.add(test, Tally::Skipped, 1);
                    (copy..copies as usize).for_each(|_| flight.abandon());
                    return other;
                }
            }
        }
        self.module.tallies.add(test, Tally::Started, 1);
        Side::Host
    }

    /// In the copy: who called, and with what, to be told if the test does not pass.
    fn introduce(&self) {
        // Units ask by a function beside them.
        sandbox::set_caller(self.caller, 1);
        if !self.module.settings.values {
            return;
        }
        match (self.state, self.words) {
            (Some(state), _) if self.unit.exact > 0 => values::tell_state(self.unit, state),
            // SAFETY: what the pass wrote stays while its module's code runs.
            (_, Some(arguments)) if self.unit.exact == 0 => unsafe {
                values::tell(self.module.record(), self.number, arguments);
            },
            _ => {}
        }
    }

    /// Starts a copy of the process, when there is room for it.
    fn split(&self, test: u32, data: usize) -> Side {
        let job = Job { test, data, scratch: self.module.scratch };
        let limits = &self.module.settings.limits;
        let waited = sys::time();
        // SAFETY: what the pass wrote stays while its module's code runs.
        let add = |keep: &mut Keep| unsafe {
            fingerprint::keep(self.module.record(), self.number, self.unit, self.words?, keep)
        };
        loop {
            let mut kept = self.state.and_then(|_| self.module.projections.keep(test, add));
            let side = sandbox::split(limits, &job, kept.as_deref_mut(), finish);
            let patience = limits.deadline_ns.saturating_mul(2);
            if side != Side::Busy || sys::time().saturating_sub(waited) > patience {
                return side;
            }
            sys::sleep(PAUSE);
        }
    }
}

/// Whether this one is tested, of so many. Without a pattern: a program that meets its states in turn would else meet some of them always at
/// the wrong time.
fn is_sampled(of: u64) -> bool {
    static MET: AtomicU64 = AtomicU64::new(0);
    of <= 1 || (MET.fetch_add(SPREAD, Relaxed).wrapping_mul(SPREAD | 2) >> 32).is_multiple_of(of)
}

/// A unit returns, and tests are due. Which of them is to be run, from 1, if this is the copy for it; else 0.
pub fn after(record: &'static StateRecord, number: u32, room: *const u64, caller: Caller) -> i32 {
    if sandbox::is_test() {
        return 0;
    }
    let (Some(module), Some(unit), Some(desk)) =
        (module(record), units(record).get(number as usize), desks::of(record, number))
    else {
        return 0;
    };
    // SAFETY: as `Call::test` left it.
    let [due, kind, low, high] = unsafe { room.cast::<[u64; DUE_WORDS]>().read() };
    let state = match kind {
        1 => Some(State::Narrow(low)),
        2 => Some(State::Wide(u128::from(high) << 64 | u128::from(low))),
        _ => None,
    };
    let call = Call { module, number, unit, desk, state, words: None, caller };
    for which in (0..unit.tests.min(64)).filter(|which| due >> which & 1 == 1) {
        if call.start(unit.first + which) == Side::Test {
            return which as i32 + 1;
        }
    }
    0
}
