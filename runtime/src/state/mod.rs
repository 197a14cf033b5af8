//! Mechanism `state`: tests of units run in copies of the live process, in states that no test has seen.
//!
//! In: a call of each unit that has tests, with its arguments. Out: in the program nothing but time; tests in a [`sandbox`], what became
//! of them in the event log, counts in a mapped file, and the states in which they came to an end in the [`seen`] set.
//!
//! This is a part of the runtime of its own, with hooks of its own: programs without tests don't have it.
//!
//! A state counts as seen when its test has come to an end, not before: what could not be run is tried again at another call. While a test
//! is under way, other calls in the same state don't start it again ([`flights`]).

mod fingerprint;
mod flights;
mod hash;
mod hooks;
mod settings;

use crate::run::Run;
use crate::sandbox::{self, Fail, Job, Outcome, Report, Side};
use crate::scratch::Scratch;
use crate::seen::{Narrow, Seen, Wide};
use crate::tallies::{self, Tallies};
use crate::text::Text;
use crate::{arena, fork, maps, run, sink, sys};
use core::ffi::CStr;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use fingerprint::State;
use flights::Flight;
use settings::{Policy, Settings};
use unseen_abi::event::Kind;
use unseen_abi::state::{FILE, StateRecord, Tally, Unit};
use unseen_abi::store;

/// So many tests are told of one by one that could not be run to their end; the others are counted.
const TOLD: u64 = 16;
/// How long a caller waits before it looks again whether there is room for another test, in ns.
const PAUSE: i64 = 50_000;

/// A module with tests.
pub struct Module {
    record: *const StateRecord,
    id: [u8; 16],
    tallies: Tallies,
    seen: Seen,
    settings: Settings,
    /// Where tests may write.
    scratch: &'static CStr,
    next: *const Module,
}

/// The modules; entries are never removed, since threads may be using them.
static MODULES: AtomicPtr<Module> = AtomicPtr::new(ptr::null_mut());
static CHILDREN: fork::Handler = fork::Handler::new(child);

/// In a new child nothing is under way.
extern "C" fn child() {
    if !sandbox::is_test() {
        flights::forget();
    }
}

fn module(record: *const StateRecord) -> Option<&'static Module> {
    // SAFETY: null, or an entry that lives for ever.
    let mut next = unsafe { MODULES.load(Ordering::Acquire).as_ref() };
    while let Some(module) = next {
        if ptr::eq(module.record, record) {
            return Some(module);
        }
        // SAFETY: as above.
        next = unsafe { module.next.as_ref() };
    }
    None
}

/// A module enters: its units ask from now on.
fn enter_module(run: &'static Run, record: &'static StateRecord) {
    if (record.size as usize) < size_of::<StateRecord>() {
        return;
    }
    if module(record).filter(|known| known.id == record.id).is_none() && add(run, record).is_none() {
        return;
    }
    let open = module(record).is_some_and(|known| known.settings.policy != Policy::Never);
    // SAFETY: the module's own variable, which only we write.
    unsafe { record.gate.write_volatile(i32::from(open)) };
}

fn add(run: &'static Run, record: &'static StateRecord) -> Option<()> {
    let settings = settings::read();
    let mut scratch = Scratch::map().ok()?;
    let scratch = &mut *scratch;
    let path = arena::keep(maps::file_at(ptr::from_ref(record).addr(), &mut scratch.input)).unwrap_or_default();
    let tests = units(record).iter().map(|u| u.tests).sum();
    let counted = tallies::Module { id: &record.id, units: tests, path };
    let tallies = match Tallies::create(run, &FILE, &counted, scratch) {
        Ok(tallies) => tallies,
        Err(why) => {
            sink::append_dropped(run, &[b"tests of ", path], why, scratch);
            return None;
        }
    };
    let seen = open_seen(run, record, &settings, scratch)?;
    let directory = run.path(store::TESTS.as_bytes(), &mut scratch.path).ok()?;
    let directory = CStr::from_bytes_with_nul(arena::keep(directory.to_bytes_with_nul())?).ok()?;
    CHILDREN.watch();
    for (start, length) in seen.memory() {
        sandbox::leave_out(start, length);
    }
    let place = arena::allocate(size_of::<Module>())?.cast::<Module>();
    // SAFETY: fresh memory of that size and alignment, which nobody else knows yet.
    unsafe {
        let next = ptr::null();
        place.write(Module { record, id: record.id, tallies, seen, settings, scratch: directory, next });
    }
    let mut first = MODULES.load(Ordering::Acquire);
    loop {
        // SAFETY: as above.
        unsafe { (*place.as_ptr()).next = first };
        match MODULES.compare_exchange(first, place.as_ptr(), Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return Some(()),
            Err(newer) => first = newer,
        }
    }
}

/// The seen set of the module's build; without a file if that can't be had, which is said.
fn open_seen(run: &'static Run, record: &StateRecord, settings: &Settings, scratch: &mut Scratch) -> Option<Seen> {
    let _ = run.make_store_directory(store::SEEN.as_bytes(), &mut scratch.path);
    let name = Text::new(&mut scratch.name).hex_bytes(&record.id).finish()?;
    let path = run.store_path(&[store::SEEN.as_bytes(), b"/", name], &mut scratch.path).ok()?;
    match Seen::open(path, &record.id, settings.seen_bytes) {
        Ok(seen) => Some(seen),
        Err(why) => {
            sink::append_dropped(run, &[b"seen set: ", why.text()], why.errno(), scratch);
            Seen::in_memory(settings.seen_bytes).ok()
        }
    }
}

/// That module leaves.
fn leave_module(record: *const StateRecord) {
    if let Some(known) = module(record) {
        // SAFETY: the module's own variable; it is still there.
        unsafe { (*known.record).gate.write_volatile(0) };
    }
}

fn units(record: &StateRecord) -> &[Unit] {
    if record.list.is_null() {
        return &[];
    }
    // SAFETY: the constant array that the pass emitted.
    unsafe { core::slice::from_raw_parts(record.list, record.units as usize) }
}

/// A unit is called. Which of its tests is to be run, from 1, if this is the copy for it; else 0.
fn call(record: &'static StateRecord, number: u32, arguments: &[u64]) -> u32 {
    if sandbox::is_test() {
        return 0;
    }
    let Some(module) = module(record) else { return 0 };
    let Some(unit) = units(record).get(number as usize) else { return 0 };
    // SAFETY: what the pass wrote stays while its module's code runs.
    let state = match module.settings.policy {
        Policy::Never => return 0,
        // SAFETY: as above.
        Policy::Unseen | Policy::Always => unsafe { fingerprint::state(record, number, unit, arguments) },
    };
    for which in 0..unit.tests {
        if start(module, unit.first + which, state) == Side::Test {
            return which + 1;
        }
    }
    0
}

/// Starts a test unless its state was seen.
fn start(module: &'static Module, test: u32, state: Option<State>) -> Side {
    module.tallies.add(test, Tally::Calls, 1);
    let is_seen = state.is_some_and(|state| module.has_seen(test, state));
    if is_seen && module.settings.policy == Policy::Unseen {
        return Side::Host;
    }
    let waited = sys::time();
    let mut is_counted = is_seen;
    loop {
        let Some(flight) = Flight::begin(module, test, state) else {
            // The same is under way already.
            return Side::Host;
        };
        if !is_counted {
            is_counted = true;
            module.tallies.add(test, if state.is_some() { Tally::Unseen } else { Tally::Untold }, 1);
        }
        let job = Job { test, data: flight.number(), scratch: module.scratch };
        let side = sandbox::split(&module.settings.limits, &job, finish);
        if side == Side::Host {
            module.tallies.add(test, Tally::Started, 1);
        }
        if matches!(side, Side::Host | Side::Test) {
            return side;
        }
        flight.end();
        let patience = module.settings.limits.deadline_ns.saturating_mul(2);
        if side != Side::Busy || sys::time().saturating_sub(waited) > patience {
            module.tallies.add(test, Tally::Skipped, 1);
            return side;
        }
        sys::sleep(PAUSE);
    }
}

impl Module {
    fn has_seen(&self, test: u32, state: State) -> bool {
        match state {
            State::Narrow(state) => self.seen.contains(Narrow { unit: test, state }),
            State::Wide(state) => self.seen.contains(Wide { unit: test, state }),
        }
    }

    fn note_seen(&self, test: u32, state: State) {
        match state {
            State::Narrow(state) => self.seen.insert(Narrow { unit: test, state }),
            State::Wide(state) => self.seen.insert(Wide { unit: test, state }),
        };
    }
}

/// A test is over. Runs in the supervisor.
fn finish(job: &Job, report: &Report<'_>) {
    let Some(flight) = Flight::of(job.data) else { return };
    let (module, test, state) = (flight.module(), job.test, flight.state());
    let Some(module) = module else { return flight.end() };
    let tally = match report.outcome {
        Outcome::Pass => Tally::Passed,
        // What an assertion ends is what the test says.
        Outcome::Fail(_) | Outcome::Crash { signal: ABORT, .. } => Tally::Failed,
        Outcome::Crash { .. } => Tally::Crashed,
        Outcome::Timeout => Tally::Late,
        Outcome::Environment(_) => Tally::Hindered,
    };
    let before = module.tallies.add(test, tally, 1);
    module.tallies.add(test, Tally::Stall, report.stall_ns);
    module.tallies.add(test, Tally::Wall, report.wall_ns);
    module.tallies.add(test, Tally::Cpu, report.cpu_ns);
    if let (Some(state), false) = (state, tally == Tally::Hindered) {
        module.note_seen(test, state);
    }
    flight.end();
    if tally != Tally::Passed && (tally != Tally::Hindered || before < TOLD) {
        tell(module, test, state, report);
    }
}

/// The signal by which `abort` ends a process.
const ABORT: u32 = 6;

/// Appends what became of a test to the event log.
fn tell(module: &Module, test: u32, state: Option<State>, report: &Report<'_>) {
    let (Some(run), Ok(mut scratch)) = (run::decided(), Scratch::map()) else { return };
    let scratch = &mut *scratch;
    let _ = sink::append(run, Kind::Test, &mut scratch.path, &mut scratch.record, |text| {
        let text = text.decimal(sys::time()).bytes(b"\0").decimal(sys::process_id().into()).bytes(b"\0");
        let text = text.hex_bytes(&module.id).bytes(b"\0").decimal(test.into()).bytes(b"\0");
        let text = outcome(text, report.outcome).bytes(b"\0");
        let text = match state {
            None => text,
            Some(State::Narrow(state)) => text.hex_bytes(&state.to_be_bytes()),
            Some(State::Wide(state)) => text.hex_bytes(&state.to_be_bytes()),
        };
        let text = text.bytes(b"\0").decimal(report.missing.0.into()).bytes(b"\0");
        // The log's fields are separated by zero bytes.
        report.output.iter().filter(|b| **b != 0).fold(text, |text, byte| text.bytes(&[*byte]))
    });
}

fn outcome(text: Text<'_>, outcome: Outcome) -> Text<'_> {
    match outcome {
        Outcome::Pass => text.bytes(b"pass"),
        Outcome::Fail(Fail::Verdict) => text.bytes(b"fail"),
        Outcome::Fail(Fail::Exited(code)) => text.bytes(b"fail exited with ").decimal(code.into()),
        Outcome::Crash { signal: ABORT, .. } => text.bytes(b"fail aborted"),
        Outcome::Crash { signal, address: None } => text.bytes(b"crash signal ").decimal(signal.into()),
        Outcome::Crash { signal, address: Some(address) } => {
            text.bytes(b"crash signal ").decimal(signal.into()).bytes(b" at 0x").hex(address)
        }
        Outcome::Timeout => text.bytes(b"timeout"),
        Outcome::Environment(reason) => reason.describe(text.bytes(b"environment ")),
    }
}
