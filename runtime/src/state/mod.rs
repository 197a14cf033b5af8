//! Mechanism `state`: tests of units run in copies of the live process, in states that no test has seen.
//!
//! In: a call of each unit that has tests, with its arguments. Out: in the program nothing but time; tests in a [`sandbox`], what became
//! of them in the event log, counts in a mapped file, and the states in which they came to an end in the [`seen`] set.
//!
//! This is a part of the runtime of its own, with hooks of its own: programs without tests don't have it.
//!
//! A state counts as seen when its test has come to an end, not before: what could not be run is tried again at another call. While a test
//! is under way, other calls in the same state don't start it again ([`flights`]).

mod budget;
mod calls;
mod compare;
mod desks;
mod fingerprint;
mod flights;
mod growth;
mod hash;
mod hooks;
mod pieces;
mod projections;
mod settings;
mod units;
mod values;
mod words;

use crate::run::Run;
use crate::sandbox::{self, Fail, Job, Outcome, Part, Reason, Report};
use crate::scratch::Scratch;
use crate::seen::{Narrow, Seen, Whole, Wide};
use crate::tallies::{self, Tallies};
use crate::text::Text;
use crate::{arena, environment, fork, maps, run, sink, sys};
use core::ffi::CStr;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use fingerprint::State;
use flights::{Flight, Landing};
use projections::{Learned, Projections};
use settings::{Policy, Settings};
use unseen_abi::event;
use unseen_abi::state::{FILE, Kind, StateRecord, Tally, Unit};
use unseen_abi::store;
use unseen_abi::{options, seen};
use words::Words;

/// So many tests are told of one by one that could not be run to their end; the others are counted.
const TOLD: u64 = 16;

/// A module with tests.
pub struct Module {
    record: *const StateRecord,
    id: [u8; 16],
    tallies: Tallies,
    seen: Seen,
    names: Names,
    settings: Settings,
    projections: Projections,
    /// Where tests may write.
    scratch: &'static CStr,
    /// The process that made the file of counts; its children share both.
    maker: u32,
    /// Whether it has not left.
    is_here: AtomicBool,
    next: *const Module,
}

/// What states are called that have more than 16 bytes.
enum Names {
    Hashes,
    /// The numbers that they have here.
    Numbers(Whole),
    /// They were to have numbers, but there is no file.
    Nothing,
}

/// The modules; entries are never removed, since threads may be using them.
static MODULES: AtomicPtr<Module> = AtomicPtr::new(ptr::null_mut());
static CHILDREN: fork::Handler = fork::Handler::new(child);

/// In a new child nothing is under way.
extern "C" fn child() {
    if !sandbox::is_test() {
        flights::forget();
        budget::forget();
        modules().for_each(calls::forget_hits);
    }
}

/// All that there ever were.
fn modules_ever() -> impl Iterator<Item = &'static Module> {
    // SAFETY: null, or an entry that lives for ever.
    let first = unsafe { MODULES.load(Ordering::Acquire).as_ref() };
    // SAFETY: as above.
    core::iter::successors(first, |module| unsafe { module.next.as_ref() })
}

/// Those whose code and data are there.
fn modules() -> impl Iterator<Item = &'static Module> {
    modules_ever().filter(|module| module.is_here.load(Ordering::SeqCst))
}

fn module(record: *const StateRecord) -> Option<&'static Module> {
    modules().find(|module| ptr::eq(module.record, record))
}

/// A module enters: its units ask from now on.
fn enter_module(run: &'static Run, record: &'static StateRecord) {
    if (record.size as usize) < size_of::<StateRecord>() {
        return;
    }
    let known = modules_ever().find(|known| ptr::eq(known.record, record) && known.id == record.id);
    let Some(module) = known.or_else(|| add(run, record)) else { return };
    module.is_here.store(true, Ordering::SeqCst);
    let open = module.settings.policy != Policy::Never;
    environment::with_variables(|variables| {
        let mut values = variables.filter_map(|variable| environment::value(variable, &options::UNITS));
        let globs = values.next().unwrap_or_default();
        let names = units::names(names(record)).chain(core::iter::repeat(&[][..]));
        for (number, name) in (0..record.units).zip(names) {
            if let Some(desk) = desks::of(record, number) {
                desk.prepare(open && units::is_chosen(globs, name));
            }
        }
    });
}

/// The names of its units.
fn names(record: &StateRecord) -> &[u8] {
    if record.names.is_null() {
        return &[];
    }
    // SAFETY: the constant that the pass emitted.
    unsafe { core::slice::from_raw_parts(record.names, record.names_length as usize) }
}

fn add(run: &'static Run, record: &'static StateRecord) -> Option<&'static Module> {
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
    let (seen, names) = open_seen(run, record, &settings, scratch)?;
    let directory = run.path(store::TESTS.as_bytes(), &mut scratch.path).ok()?;
    let directory = CStr::from_bytes_with_nul(arena::keep(directory.to_bytes_with_nul())?).ok()?;
    CHILDREN.watch();
    sandbox::adopt();
    let whole = if let Names::Numbers(whole) = &names { Some(whole.span()) } else { None };
    for (start, length) in seen.memory().into_iter().chain(whole) {
        sandbox::leave_out(start, length);
    }
    let place = arena::allocate(size_of::<Module>())?.cast::<Module>();
    // SAFETY: fresh memory of that size and alignment, which nobody else knows yet.
    unsafe {
        let (projections, next) = (Projections::new(tests), ptr::null());
        let (id, scratch, maker, is_here) = (record.id, directory, sys::process_id(), AtomicBool::new(false));
        place.write(Module { record, id, tallies, seen, names, settings, projections, scratch, maker, is_here, next });
    }
    let mut first = MODULES.load(Ordering::Acquire);
    loop {
        // SAFETY: as above.
        unsafe { (*place.as_ptr()).next = first };
        match MODULES.compare_exchange(first, place.as_ptr(), Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: from now on it lives for ever.
            Ok(_) => return Some(unsafe { place.as_ref() }),
            Err(newer) => first = newer,
        }
    }
}

/// The seen set of the module's build, with what was imported for it; without a file if that can't be had, which is said.
fn open_seen(
    run: &'static Run,
    record: &StateRecord,
    settings: &Settings,
    scratch: &mut Scratch,
) -> Option<(Seen, Names)> {
    let _ = run.make_store_directory(store::SEEN.as_bytes(), &mut scratch.path);
    let suffix = if settings.exact { seen::EXACT_SUFFIX } else { "" };
    let name = Text::new(&mut scratch.name).hex_bytes(&record.id).bytes(suffix.as_bytes()).finish()?;
    let path = run.store_path(&[store::SEEN.as_bytes(), b"/", name], &mut scratch.path).ok()?;
    let seen = Seen::open(path, &record.id, settings.seen_bytes);
    let names = match settings.exact.then(|| Whole::open(path, &record.id, settings.seen_bytes)) {
        None => Names::Hashes,
        Some(Ok(whole)) => Names::Numbers(whole),
        Some(Err(why)) => {
            sink::append_dropped(run, &[b"whole states: ", why.text()], why.errno(), scratch);
            Names::Nothing
        }
    };
    match seen {
        // What others have seen has no numbers here.
        Ok(seen) if settings.exact => Some((seen, names)),
        Ok(seen) => {
            let name = Text::new(&mut scratch.name).hex_bytes(&record.id).bytes(store::IMPORTS.as_bytes()).finish()?;
            let imports = run.store_path(&[store::SEEN.as_bytes(), b"/", name], &mut scratch.path);
            if let Ok(imports) = imports
                && let Err(why) = seen.import(imports, &record.id)
            {
                sink::append_dropped(run, &[b"imported seen set: ", why.text()], why.errno(), scratch);
            }
            Some((seen, names))
        }
        Err(why) => {
            sink::append_dropped(run, &[b"seen set: ", why.text()], why.errno(), scratch);
            Some((Seen::in_memory(settings.seen_bytes).ok()?, names))
        }
    }
}

/// That module leaves.
fn leave_module(record: *const StateRecord) {
    if let Some(known) = module(record) {
        desks::all(known.record()).for_each(|desk| desk.close());
        if !sandbox::is_test() {
            calls::count_all_hits(known);
            budget::note_process(known);
        }
        known.is_here.store(false, Ordering::SeqCst);
    }
}

fn units(record: &StateRecord) -> &[Unit] {
    if record.list.is_null() {
        return &[];
    }
    // SAFETY: the constant array that the pass emitted.
    unsafe { core::slice::from_raw_parts(record.list, record.units as usize) }
}

impl Module {
    fn record(&self) -> &'static StateRecord {
        // SAFETY: it is asked only of modules that are there.
        unsafe { &*self.record }
    }

    /// The numbers of its tests.
    fn tests(&self) -> impl Iterator<Item = u32> + use<> {
        0..units(self.record()).iter().map(|unit| unit.tests).sum()
    }

    /// What kind the test with that number is.
    fn kind(&self, test: u32) -> Kind {
        let kinds = self.record().kinds;
        // SAFETY: the constant that the pass emitted has a byte for each test.
        let number = if kinds.is_null() { 0 } else { unsafe { *kinds.add(test as usize) } };
        Kind::from_number(number.into()).unwrap_or_default()
    }

    /// The state that a unit is called in; none if it can't be told. `words` are its arguments, or its state.
    fn state(&self, number: u32, unit: &Unit, words: &[u64]) -> Option<State> {
        // SAFETY: what the pass wrote stays while its module's code runs.
        let state = |copy: Option<&mut Words>| unsafe { fingerprint::state(self.record(), number, unit, words, copy) };
        match &self.names {
            _ if unit.exact > 0 => state(None),
            Names::Hashes => state(None),
            Names::Nothing => None,
            Names::Numbers(whole) if !run::is_locked_in() => {
                let mut words = Words::map()?;
                let State::Wide(hash) = state(Some(&mut words))? else { return None };
                whole.name(hash, words.all()?).map(State::Wide)
            }
            Names::Numbers(_) => None,
        }
    }

    /// Whether states are told by hashes.
    fn has_hashes(&self) -> bool {
        matches!(self.names, Names::Hashes)
    }

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
    let Some((flight, copy)) = Flight::of(job.data) else { return };
    let (module, test, state) = (flight.module(), job.test, flight.state());
    let Some(module) = module else { return flight.end() };
    module.tallies.add(test, Tally::Stall, report.stall_ns);
    module.tallies.add(test, Tally::Wall, report.wall_ns);
    module.tallies.add(test, Tally::Cpu, report.cpu_ns);
    budget::spend(module, test, report.stall_ns.saturating_add(report.cpu_ns).saturating_add(report.own_ns));
    let Landing { outcome, is_last } = flight.land(copy, report.outcome, report.told);
    if let Some(outcome) = outcome {
        conclude(module, test, state, outcome, report);
    }
    if is_last {
        flight.end();
    }
}

/// What a test has come to is known.
fn conclude(module: &Module, test: u32, state: Option<State>, outcome: Outcome, report: &Report<'_>) {
    let tally = match outcome {
        Outcome::Pass => Tally::Passed,
        // What an assertion ends is what the test says.
        Outcome::Fail(_) | Outcome::Crash { signal: ABORT, .. } => Tally::Failed,
        Outcome::Crash { .. } => Tally::Crashed,
        Outcome::Timeout => Tally::Late,
        Outcome::Environment(_) => Tally::Hindered,
    };
    let is_told = match (outcome, module.projections.of(test)) {
        (Outcome::Environment(Reason::Outside(address)), Some(learned)) => learned.miss(address) == 0,
        (Outcome::Environment(_), _) => module.tallies.get(test, tally) < TOLD,
        (outcome, learned) => {
            learned.into_iter().for_each(Learned::end);
            outcome != Outcome::Pass
        }
    };
    let mut notes = None;
    if let (Some(state), false) = (state, tally == Tally::Hindered) {
        let begin = sys::monotonic_time();
        module.note_seen(test, state);
        module.tallies.add(test, Tally::Note, sys::monotonic_time().saturating_sub(begin));
        notes = Some(module.tallies.add(test, Tally::Notes, 1).wrapping_add(1));
    }
    if is_told {
        tell(module, test, state, outcome, report);
    }
    if let Some(notes) = notes {
        growth::tell(module, test, notes);
    }
    // Whoever waits for tests to be over finds all else done.
    module.tallies.add(test, tally, 1);
}

/// A call in a state outside the seen set, while the program is only watched; `before` of them there were for this unit.
fn tell_strange(module: &Module, test: u32, state: State, is_rescued: bool, before: u64) {
    if before >= TOLD {
        return;
    }
    let text = if is_rescued { &b"strange rescued"[..] } else { b"strange" };
    append(module, test, Some(state), None, |out| out.bytes(text));
}

/// The signal by which `abort` ends a process.
const ABORT: u32 = 6;

/// Appends what became of a test to the event log.
fn tell(module: &Module, test: u32, state: Option<State>, came_to: Outcome, report: &Report<'_>) {
    append(module, test, state, Some(report), |text| outcome(text, came_to));
}

fn append(
    module: &Module,
    test: u32,
    state: Option<State>,
    report: Option<&Report<'_>>,
    outcome: impl FnOnce(Text<'_>) -> Text<'_>,
) {
    if run::is_locked_in() {
        return;
    }
    let (Some(run), Ok(mut scratch)) = (run::decided(), Scratch::map()) else { return };
    let scratch = &mut *scratch;
    let _ = sink::append(run, event::Kind::Test, &mut scratch.path, &mut scratch.record, |text| {
        let text = text.decimal(sys::time()).bytes(b"\0").decimal(sys::process_id().into()).bytes(b"\0");
        let text = text.hex_bytes(&module.id).bytes(b"\0").decimal(test.into()).bytes(b"\0");
        let text = outcome(text).bytes(b"\0");
        let text = match state {
            None => text,
            // A state of a few bytes is these bytes: values, which are not to be read in a log.
            Some(State::Narrow(state)) => text.hex_bytes(&hash::of(&[state]).to_be_bytes()),
            Some(State::Wide(state)) => text.hex_bytes(&hash::of(&[state as u64, (state >> 64) as u64]).to_be_bytes()),
        };
        let text = text.bytes(b"\0").decimal(report.map_or(0, |report| report.missing.0).into()).bytes(b"\0");
        let Some(report) = report else { return text };
        let text = plain(text, report.output).bytes(b"\0").decimal(report.thread.into()).bytes(b"\0");
        let text = plain(text, report.thread_name);
        let parts = [Part::Modules, Part::Callers, Part::Place, Part::Arguments, Part::Values];
        parts.iter().fold(text, |text, part| plain(text.bytes(b"\0"), report.account.part(*part)))
    });
}

/// Without zero bytes, which separate the log's fields.
fn plain<'a>(text: Text<'a>, bytes: &[u8]) -> Text<'a> {
    bytes.split(|b| *b == 0).fold(text, |text, piece| text.bytes(piece))
}

fn outcome(text: Text<'_>, outcome: Outcome) -> Text<'_> {
    match outcome {
        Outcome::Pass => text.bytes(b"pass"),
        Outcome::Fail(Fail::Verdict) => text.bytes(b"fail"),
        Outcome::Fail(Fail::Differs) => text.bytes(b"fail what it did the second time differs"),
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
