//! Mechanism `access`: holds what units read against their dependency sets.
//!
//! Instrumented code tells of each unit's entry and end, of each read and write, of what it allocates and frees. When a unit is
//! entered that is to be watched, [`walk`] evaluates its set; from then on each byte that is read before it was written must
//! be in it. A byte that is not is a miss, and goes to the event log at once; what is counted goes to a mapped file
//! ([`tally`]): both survive whatever becomes of the process.
//!
//! This is a part of the runtime of its own, with hooks of its own: programs without `access` don't have it. What it shares with the
//! other part is code, not state.
//!
//! A unit whose end nobody tells (an exception, `longjmp`) is found to be over when the stack is above its frame.

mod bytes;
mod hooks;
mod objects;
mod settings;
mod tally;
mod thread;
mod walk;

use crate::run::Run;
use crate::scratch::Scratch;
use crate::sys::{self, Errno};
use crate::{arch, arena, fork, maps, run, sink};
use bytes::Full;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use objects::Kind;
use tally::Tallies;
use thread::{DEPTH, Thread, WATCHED, Watch};
use unseen_abi::access::{AccessRecord, CONSTANT, FIXED, Sets, TEXT, Tally};
use unseen_abi::event;
use walk::{Walk, Walked};

/// How many different misses are reported.
const MISSES: usize = 1 << 12;
/// How many units of the chain a miss names.
const CHAIN: usize = 32;

/// A module that is watched.
struct Watched {
    record: *const AccessRecord,
    tallies: Tallies,
    /// Null: all units; else one byte for each.
    chosen: *const u8,
    next: *const Watched,
}

/// The modules; entries are never removed, since threads may be using them.
static MODULES: AtomicPtr<Watched> = AtomicPtr::new(ptr::null_mut());
/// Whether hooks have anything to do.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// So many first calls of each unit are watched.
static CALLS: AtomicU64 = AtomicU64::new(0);
/// When no more calls are watched, in ns; 0 is never.
static DEADLINE: AtomicU64 = AtomicU64::new(0);
static CHILDREN: fork::Handler = fork::Handler::new(child);
/// The misses that were reported, as hashes.
static REPORTED: [AtomicU64; MISSES] = [const { AtomicU64::new(0) }; MISSES];

/// A module enters.
fn enter_module(run: &'static Run, record: &'static AccessRecord) {
    if (record.size as usize) < size_of::<AccessRecord>() || module(record).is_some() {
        return;
    }
    let Ok(mut scratch) = Scratch::map() else { return };
    let scratch = &mut *scratch;
    thread::prepare();
    CHILDREN.watch();
    for (number, variable) in (0..).zip(walk::variables(record)) {
        let kind = if variable.size & CONSTANT != 0 { Kind::Constant } else { Kind::Variable(number) };
        objects::insert(variable.address, (variable.size & !CONSTANT) as usize, kind);
    }
    // Into the name's neighbour: the tallies need the input for themselves.
    let path = arena::keep(maps::file_at(ptr::from_ref(record).addr(), &mut scratch.input)).unwrap_or_default();
    match Tallies::create(run, record, path, scratch) {
        Ok(tallies) => add(record, tallies),
        Err(why) => sink::append_dropped(run, &[b"accesses of ", path], why, scratch),
    }
}

fn add(record: &'static AccessRecord, tallies: Tallies) {
    let Some(place) = arena::allocate(size_of::<Watched>()) else { return };
    let place = place.cast::<Watched>();
    let mut chosen = ptr::null();
    settings::with(|settings| {
        CALLS.store(settings.calls, Ordering::Relaxed);
        let seconds = settings.seconds;
        if seconds > 0 && DEADLINE.load(Ordering::Relaxed) == 0 {
            DEADLINE.store(sys::time().saturating_add(seconds.saturating_mul(1_000_000_000)), Ordering::Relaxed);
        }
        if let Some(list) = settings.units {
            chosen = choose(record, list);
        }
    });
    let mut first = MODULES.load(Ordering::Acquire);
    loop {
        // SAFETY: fresh memory of that size and alignment, which nobody else knows yet.
        unsafe { place.write(Watched { record, tallies, chosen, next: first }) };
        match MODULES.compare_exchange(first, place.as_ptr(), Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => break,
            Err(newer) => first = newer,
        }
    }
    ACTIVE.store(true, Ordering::Release);
}

/// A byte for each unit of the module: whether it is in the list `ID:NUMBER,...`, where ID begins the module's id in hex.
fn choose(record: &AccessRecord, list: &[u8]) -> *const u8 {
    let Ok(chosen) = sys::map_memory((record.units as usize).max(1)) else { return ptr::null() };
    let [a, b, c, d, ..] = record.id;
    let mut buffer = [0; 16];
    let id = crate::text::Text::new(&mut buffer).hex_bytes(&[a, b, c, d]).finish().unwrap_or_default();
    for entry in list.split(|b| *b == b',') {
        let number = entry.strip_prefix(id).and_then(|rest| rest.strip_prefix(b":")).and_then(settings::number);
        if let Some(number) = number.filter(|n| *n < u64::from(record.units)) {
            // SAFETY: inside the memory, which has a byte for each unit.
            unsafe { *chosen.add(number as usize) = 1 };
        }
    }
    chosen
}

/// A module leaves: its memory is gone afterwards.
fn leave_module(record: &AccessRecord) {
    if module(record).is_some() {
        for variable in walk::variables(record) {
            objects::remove(variable.address);
        }
    }
}

extern "C" fn child() {
    objects::after_fork();
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

/// A unit is entered.
fn enter(record: *const AccessRecord, unit: u32, arguments: *const u64, count: u32, frame: usize) {
    if !is_active() {
        return;
    }
    let Some(module) = module(record) else { return };
    thread::with(|thread| {
        drop_dead(thread, frame);
        let depth = thread.depth;
        let (Some(place), Some(number)) = (thread.frames.get_mut(depth), thread.units.get_mut(depth)) else { return };
        (*place, *number) = (frame, unit);
        thread.depth += 1;
        let calls = module.tallies.add(unit, Tally::Calls, 1) + 1;
        // SAFETY: null, or a byte for each unit.
        let chosen = module.chosen.is_null() || unsafe { *module.chosen.add(unit as usize) } != 0;
        // SAFETY: the constant that the pass emitted stays while its module's code runs.
        let sets = unsafe { &*record };
        // SAFETY: as above.
        let sets = Sets(unsafe { core::slice::from_raw_parts(sets.words, sets.word_count as usize) });
        let hides = sets.unit(unit).is_none_or(|(_, hides)| hides);
        if chosen && !hides && is_sample(calls) {
            // SAFETY: the words on the caller's stack.
            let arguments =
                unsafe { core::slice::from_raw_parts(arguments, if arguments.is_null() { 0 } else { count as usize }) };
            watch(thread, module, sets, unit, arguments, frame);
        }
    });
}

/// The first calls, then one in two, in four, ...
fn is_sample(calls: u64) -> bool {
    let first = CALLS.load(Ordering::Relaxed).max(1);
    let period = (calls / first).max(1).checked_next_power_of_two().unwrap_or(1);
    if calls > first && calls & (period - 1) != 0 {
        return false;
    }
    let deadline = DEADLINE.load(Ordering::Relaxed);
    deadline == 0 || sys::time() < deadline
}

fn watch(thread: &mut Thread, module: &Watched, sets: Sets<'_>, unit: u32, arguments: &[u64], frame: usize) {
    if thread.watching >= WATCHED {
        // A unit that was never seen to its end goes before the outermost one.
        if module.tallies.get(unit, Tally::Checked) > 0 {
            return;
        }
        drop_watch(thread, 0);
    }
    let (Some(frames), Some(watch)) = (thread.frames.get(..thread.depth), thread.watches.get_mut(thread.watching))
    else {
        return;
    };
    watch.bytes.clear();
    // SAFETY: as in `enter`.
    let record = unsafe { &*module.record };
    let list = &mut thread.list;
    match (Walk { sets, record, arguments, frame, frames, list, bytes: &mut watch.bytes, steps: 0 }).run(unit) {
        Ok(Walked { bytes, foreign }) => {
            (watch.frame, watch.record, watch.unit, watch.foreign) = (frame, module.record, unit, foreign);
            (watch.set, watch.read) = (bytes, 0);
            thread.watching += 1;
        }
        Err(_) => {
            module.tallies.add(unit, Tally::Unwalked, 1);
        }
    }
}

/// The unit with that frame is left.
fn leave(frame: usize) {
    if is_active() {
        thread::with(|thread| drop_dead(thread, frame));
    }
}

/// Forgets the units whose frames lie at or below `frame`: the stack grows down.
fn drop_dead(thread: &mut Thread, frame: usize) {
    while let Some(top) = thread.depth.checked_sub(1).and_then(|top| thread.frames.get(top)) {
        if *top > frame {
            break;
        }
        thread.depth -= 1;
    }
    while let Some(top) = thread.watching.checked_sub(1) {
        let Some(watch) = thread.watches.get(top).filter(|w| w.frame <= frame) else { break };
        if let Some(module) = module(watch.record) {
            module.tallies.add(watch.unit, Tally::Checked, 1);
            module.tallies.add(watch.unit, Tally::Set, watch.set);
            module.tallies.add(watch.unit, Tally::Read, watch.read);
        }
        thread.watching = top;
    }
}

/// Gives a watch up.
fn drop_watch(thread: &mut Thread, index: usize) {
    let Some(rest) = thread.watches.get_mut(index..thread.watching) else { return };
    for pair in 1..rest.len() {
        if let Ok([before, after]) = rest.get_disjoint_mut([pair - 1, pair]) {
            core::mem::swap(before, after);
        }
    }
    thread.watching -= 1;
}

/// Does something to each watch for which the memory is not local. A watch that has no more room is given up.
fn each(thread: &mut Thread, address: usize, mut f: impl FnMut(&mut Watch) -> Result<(), Full>) {
    let here = arch::stack_pointer();
    drop_dead(thread, here);
    let mut i = 0;
    while let Some(watch) = thread.watches.get_mut(..thread.watching).and_then(|w| w.get_mut(i)) {
        let local = (here..watch.frame).contains(&address);
        if !local && f(watch).is_err() {
            drop_watch(thread, i);
        } else {
            i += 1;
        }
    }
}

/// Memory is about to be read.
fn read(address: usize, size: usize, site: u32) {
    if !is_active() || size == 0 {
        return;
    }
    thread::with(|thread| {
        if thread.watching == 0 {
            return;
        }
        let mut misses = [0_u64; WATCHED];
        let mut number = 0;
        each(thread, address, |watch| {
            let reading = watch.bytes.read(address, size)?;
            watch.read += reading.new - reading.missed;
            if reading.missed > 0
                && let Some(miss) = misses.get_mut(number)
            {
                *miss = reading.missed;
            }
            number += 1;
            Ok(())
        });
        if misses.iter().any(|m| *m > 0) {
            report(thread, address, &misses, site);
        }
    });
}

/// A text is about to be read.
fn read_text(address: usize, site: u32) {
    if is_active() {
        let watching = thread::with(|thread| thread.watching > 0);
        if watching == Some(true) {
            read(address, walk::text_length(address), site);
        }
    }
}

/// Memory is written.
fn write(address: usize, size: usize) {
    if is_active() && size > 0 {
        thread::with(|thread| {
            if thread.watching > 0 {
                each(thread, address, |watch| watch.bytes.write(address, size));
            }
        });
    }
}

/// Memory was allocated: what was there before is nobody's state.
fn allocated(address: usize, size: usize) {
    if !is_active() || address == 0 {
        return;
    }
    let size = if size as u64 == TEXT { walk::text_length(address) } else { size };
    thread::with(|thread| {
        if size as u64 == FIXED {
            // What a pointer to it leads to can't be told from the library's own state.
            let watches = thread.watches.get_mut(..thread.watching).unwrap_or_default();
            return watches.iter_mut().for_each(|watch| watch.foreign = true);
        }
        objects::insert(address, size, Kind::Heap);
        if thread.watching > 0 {
            each(thread, address, |watch| watch.bytes.write(address, size));
        }
    });
}

/// Memory is given back.
fn freed(address: usize) {
    if is_active() && address != 0 {
        thread::with(|_| objects::remove(address));
    }
}

/// Writes misses down, unless they are known.
fn report(thread: &Thread, address: usize, misses: &[u64; WATCHED], site: u32) {
    let object = objects::find(address);
    if object.is_some_and(|o| o.kind == Kind::Constant) {
        return;
    }
    let here = arch::stack_pointer();
    let mut number = 0;
    for watch in thread.watches.get(..thread.watching).unwrap_or_default() {
        // As in `each`: what is local was not counted.
        if (here..watch.frame).contains(&address) {
            continue;
        }
        let missed = misses.get(number).copied().unwrap_or(0);
        number += 1;
        if missed == 0 || (watch.foreign && object.is_none()) {
            continue;
        }
        let Some(module) = module(watch.record) else { continue };
        module.tallies.add(watch.unit, Tally::Missed, missed);
        if is_new(watch, site) {
            append(thread, watch, address, object, missed, site);
        }
    }
}

/// Whether a miss was not reported yet.
fn is_new(watch: &Watch, site: u32) -> bool {
    let key = (watch.record.addr() as u64) ^ u64::from(watch.unit) << 32 ^ u64::from(site);
    let key = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for i in 0..8 {
        let Some(slot) = REPORTED.get((key >> 40).wrapping_add(i) as usize % MISSES) else { return false };
        match slot.compare_exchange(0, key, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return true,
            Err(found) if found == key => return false,
            Err(_) => {}
        }
    }
    false
}

fn append(thread: &Thread, watch: &Watch, address: usize, object: Option<objects::Object>, missed: u64, site: u32) {
    let Some(run) = run::decided() else { return };
    let Ok(mut scratch) = Scratch::map() else { return };
    let scratch = &mut *scratch;
    // SAFETY: the constant that the pass emitted stays while its module's code runs.
    let id = unsafe { (*watch.record).id };
    let on_stack = thread.frames.first().is_some_and(|outermost| (watch.frame..*outermost + 65536).contains(&address));
    let result = sink::append(run, event::Kind::Miss, &mut scratch.path, &mut scratch.record, |text| {
        let text = text.decimal(sys::time()).bytes(b"\0").decimal(sys::process_id().into()).bytes(b"\0");
        let text = text.hex_bytes(&id).bytes(b"\0").decimal(watch.unit.into()).bytes(b"\0").decimal(site.into());
        let text = text.bytes(b"\0").hex(address as u64).bytes(b"\0").decimal(missed).bytes(b"\0");
        let text = match object {
            Some(o) => {
                let offset = address.wrapping_sub(o.start) as u64;
                match o.kind {
                    Kind::Variable(n) => text.bytes(b"variable ").decimal(n.into()).bytes(b" ").decimal(offset),
                    _ => text.bytes(b"heap ").decimal(o.size as u64).bytes(b" ").decimal(offset),
                }
            }
            None if on_stack => text.bytes(b"stack"),
            None => text.bytes(b"unknown"),
        };
        let active = thread.units.get(..thread.depth.min(DEPTH)).unwrap_or_default();
        let active = active.get(active.len().saturating_sub(CHAIN)..).unwrap_or_default();
        active.iter().fold(text.bytes(b"\0"), |text, unit| text.decimal((*unit).into()).bytes(b" "))
    });
    if result.is_err() {
        sink::append_dropped(run, &[b"a miss"], result.err().unwrap_or(Errno::INVALID), scratch);
    }
}
