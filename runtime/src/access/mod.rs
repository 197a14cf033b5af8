//! Mechanism `access`: holds what units read against their dependency sets.
//!
//! Instrumented code tells of each unit's entry and end, of each read and write, of what it allocates and frees. When a unit is
//! entered that is to be watched, [`walk`] evaluates its set; from then on each byte that is read before it was written must
//! be in it. A byte that is not is a miss, and goes to the event log at once; what is counted goes to a mapped file
//! ([`tallies`]): both survive whatever becomes of the process.
//!
//! This is a part of the runtime of its own, with hooks of its own: programs without `access` don't have it. What it shares with the
//! other part is code, not state.
//!
//! A unit whose end nobody tells (an exception, `longjmp`) is found to be over when the stack is above its frame.

mod bytes;
mod effort;
mod frames;
mod gate;
mod hooks;
mod misses;
mod objects;
mod pages;
mod ranges;
mod regions;
mod settings;
mod thread;
mod walk;
mod watch;

use crate::run::Run;
use crate::scratch::Scratch;
use crate::sys;
use crate::tallies::{self, Tallies};
use crate::{arena, fork, maps, sink};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, Ordering};
use objects::Kind;

use unseen_abi::access::{AccessRecord, FILE, Tally};
use unseen_abi::sets::{CONSTANT, Variable};

/// A module that is watched.
struct Watched {
    record: *const AccessRecord,
    /// Another module may be loaded at the same place.
    id: [u8; 16],
    units: u32,
    tallies: Tallies,
    /// Null: all units; else one byte for each.
    chosen: *const u8,
    /// For each unit what its countdown was set to.
    periods: *const AtomicI32,
    /// Its code and data may have been unloaded.
    gone: AtomicBool,
    next: *const Watched,
}

/// The modules; entries are never removed, since threads may be using them.
static MODULES: AtomicPtr<Watched> = AtomicPtr::new(ptr::null_mut());
/// Whether hooks have anything to do.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// So many first calls of each unit are watched.
static CALLS: AtomicU64 = AtomicU64::new(0);
/// When no more calls are watched, in ns; 0 is never. What was never checked has as long again from then on as there was until then.
static DEADLINE: AtomicU64 = AtomicU64::new(0);
static LONGEST: AtomicU64 = AtomicU64::new(0);
static CHILDREN: fork::Handler = fork::Handler::new(child);

/// A module enters.
fn enter_module(run: &'static Run, record: &'static AccessRecord) {
    if (record.size as usize) < size_of::<AccessRecord>() {
        return;
    }
    if let Some(known) = module(record).filter(|known| known.id == record.id) {
        if known.gone.swap(false, Ordering::Relaxed) {
            add_variables(record);
            gate::apply();
        }
        return;
    }
    let Ok(periods) = sys::map_memory((record.units as usize).max(1) * size_of::<AtomicI32>()) else { return };
    let Ok(mut scratch) = Scratch::map() else { return };
    let scratch = &mut *scratch;
    thread::prepare();
    CHILDREN.watch();
    add_variables(record);
    // Into the name's neighbour: the tallies need the input for themselves.
    let path = arena::keep(maps::file_at(ptr::from_ref(record).addr(), &mut scratch.input)).unwrap_or_default();
    let counted = tallies::Module { id: &record.id, units: record.units, path };
    match Tallies::create(run, &FILE, &counted, scratch) {
        Ok(tallies) => add(record, tallies, periods.cast()),
        Err(why) => sink::append_dropped(run, &[b"accesses of ", path], why, scratch),
    }
}

fn variables(record: &AccessRecord) -> &[Variable] {
    // SAFETY: what the pass wrote stays while the module is there.
    unsafe { record.sets.variables() }
}

fn add_variables(record: &AccessRecord) {
    for (number, variable) in (0..).zip(variables(record)) {
        let kind = if variable.size & CONSTANT != 0 { Kind::Constant } else { Kind::Variable(number) };
        objects::insert(variable.address, (variable.size & !CONSTANT) as usize, kind);
    }
}

fn add(record: &'static AccessRecord, tallies: Tallies, periods: *const AtomicI32) {
    let Some(place) = arena::allocate(size_of::<Watched>()) else { return };
    let place = place.cast::<Watched>();
    let mut chosen = ptr::null();
    settings::with(|settings| {
        CALLS.store(settings.calls, Ordering::Relaxed);
        effort::set(settings.effort);
        let seconds = settings.seconds;
        if seconds > 0 && DEADLINE.load(Ordering::Relaxed) == 0 {
            let longest = seconds.saturating_mul(1_000_000_000);
            LONGEST.store(longest, Ordering::Relaxed);
            DEADLINE.store(sys::time().saturating_add(longest), Ordering::Relaxed);
        }
        if let Some(list) = settings.units {
            chosen = choose(record, list);
        }
    });
    let mut first = MODULES.load(Ordering::Acquire);
    loop {
        // SAFETY: fresh memory of that size and alignment, which nobody else knows yet.
        unsafe {
            let (id, units, gone) = (record.id, record.units, AtomicBool::new(false));
            place.write(Watched { record, id, units, tallies, chosen, periods, gone, next: first });
        }
        match MODULES.compare_exchange(first, place.as_ptr(), Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => break,
            Err(newer) => first = newer,
        }
    }
    ACTIVE.store(true, Ordering::Release);
    gate::apply();
}

/// A byte for each unit of the module: whether it is in the list `ID:NUMBER,...`, where ID begins the module's id in hex.
fn choose(record: &AccessRecord, list: &[u8]) -> *const u8 {
    let Ok(chosen) = sys::map_memory((record.units as usize).max(1)) else { return ptr::null() };
    let [a, b, c, d, ..] = record.id;
    let mut buffer = [0; 16];
    let id = crate::text::Text::new(&mut buffer).hex_bytes(&[a, b, c, d]).finish().unwrap_or_default();
    for entry in list.split(|b| *b == b',') {
        let number =
            entry.strip_prefix(id).and_then(|rest| rest.strip_prefix(b":")).and_then(crate::environment::number);
        if let Some(number) = number.filter(|n| *n < u64::from(record.units)) {
            // SAFETY: inside the memory, which has a byte for each unit.
            unsafe { *chosen.add(number as usize) = 1 };
        }
    }
    chosen
}

/// A module leaves: its memory is gone afterwards.
fn leave_module(record: &AccessRecord) {
    let Some(module) = module(record) else { return };
    watch::end_all();
    for unit in 0..record.units {
        module.count_calls(unit);
    }
    module.gone.store(true, Ordering::Relaxed);
    for variable in variables(record) {
        objects::remove(variable.address);
    }
}

extern "C" fn child() {
    objects::after_fork();
    gate::after_fork(watch::is_watching());
}

impl Watched {
    fn countdown(&self, unit: u32) -> Option<&AtomicI32> {
        if unit >= self.units {
            return None;
        }
        // SAFETY: the constant that the pass emitted stays while its module's code runs, and names a number for each unit.
        unsafe { (*self.record).countdown.wrapping_add(unit as usize).cast::<AtomicI32>().as_ref() }
    }

    fn period(&self, unit: u32) -> Option<&AtomicI32> {
        // SAFETY: there is one for each unit.
        (unit < self.units).then(|| unsafe { &*self.periods.add(unit as usize) })
    }

    /// Takes the calls into account that were made since this was last asked. Returns how many there were in all, and whether the
    /// countdown is over.
    fn count_calls(&self, unit: u32) -> (u64, bool) {
        let (Some(countdown), Some(period)) = (self.countdown(unit), self.period(unit)) else { return (0, false) };
        let left = countdown.load(Ordering::Relaxed);
        let new = i64::from(period.load(Ordering::Relaxed)) - i64::from(left);
        period.store(left, Ordering::Relaxed);
        let new = u64::try_from(new).unwrap_or(0);
        (self.tallies.add(unit, Tally::Calls, new).wrapping_add(new), left < 0)
    }

    /// So many calls of the unit need not be told of.
    fn skip(&self, unit: u32, calls: i32) {
        if let (Some(countdown), Some(period)) = (self.countdown(unit), self.period(unit)) {
            period.store(calls, Ordering::Relaxed);
            countdown.store(calls, Ordering::Relaxed);
        }
    }
}

fn module(record: *const AccessRecord) -> Option<&'static Watched> {
    let mut next = MODULES.load(Ordering::Acquire).cast_const();
    // SAFETY: entries live for ever and don't change.
    while let Some(module) = unsafe { next.as_ref() } {
        if ptr::eq(module.record, record) {
            return Some(module);
        }
        next = module.next;
    }
    None
}

fn is_active() -> bool {
    ACTIVE.load(Ordering::Acquire)
}
