//! What hooks do: calls of units begin to be watched and are over, memory is read and written.

use super::bytes::{Full, LINE, bits};
use super::objects::{self, Kind};
use super::thread::{self, Thread, WATCHED, Watch};
use super::walk::{MOST, Walk, Walked};
use super::{CALLS, DEADLINE, LONGEST, Watched, effort, frames, gate, is_active, misses, module, regions};
use crate::memory::{self, Memory};
use crate::{arch, sys};
use core::sync::atomic::Ordering;
use unseen_abi::access::{AccessRecord, FIXED, MEASURED, TEXT, Tally};
use unseen_abi::sets::Sets;

/// So many calls are not told of that need not be watched: they are counted.
const COUNTED: i32 = 1023;
/// So many before another try when there is no time left for watching.
const LATER: i32 = 255;
/// So many calls of a unit go first that were not checked to their end.
const TRIES: u64 = 4;
/// After so much CPU time, in ns, it is time to look where there is memory.
const LOOK: u64 = 10_000_000;
/// No stack is larger.
const LARGEST_STACK: usize = 1 << 32;
/// So many hooks between two looks at the clock.
const TICKS: u32 = 1 << 12;

/// A unit is entered.
pub fn enter(record: *const AccessRecord, unit: u32, arguments: *const u64, count: u32, frame: usize) {
    let known = if is_active() { module(record) } else { None };
    let Some(module) = known else {
        // SAFETY: null, or the constant that the pass emitted, which has a number for each unit.
        if let Some(countdown) = unsafe { record.as_ref() }.filter(|r| unit < r.units).map(|r| r.countdown) {
            // SAFETY: as above.
            unsafe { countdown.wrapping_add(unit as usize).write(i32::MAX) };
        }
        return;
    };
    thread::with(|thread| {
        drop_dead(thread, frame);
        let (calls, is_due) = module.count_calls(unit);
        let mut watches = false;
        // SAFETY: the constant that the pass emitted stays while its module's code runs.
        let sets = unsafe { (*record).sets.sets() };
        if is_due {
            // SAFETY: null, or a byte for each unit.
            let chosen = module.chosen.is_null() || unsafe { *module.chosen.add(unit as usize) } != 0;
            let hides = sets.unit(unit).is_none_or(|set| set.hides);
            let next = match (chosen && !hides, has_time(thread, is_fresh(module, unit))) {
                (false, _) => COUNTED,
                (true, false) => LATER,
                (true, true) => {
                    watches = true;
                    until_next(calls).max(after_failures(module, unit))
                }
            };
            module.skip(unit, next);
        }
        if !watches && thread.watching == 0 {
            return;
        }
        if thread.depth == 0 {
            thread.depth = frames::above(frame, &mut thread.frames);
            thread.units.iter_mut().take(thread.depth).for_each(|unit| *unit = NOBODY);
        }
        let depth = thread.depth;
        let (Some(place), Some(number)) = (thread.frames.get_mut(depth), thread.units.get_mut(depth)) else { return };
        (*place, *number) = (frame, unit);
        thread.depth += 1;
        if watches {
            // SAFETY: the words on the caller's stack.
            let arguments =
                unsafe { core::slice::from_raw_parts(arguments, if arguments.is_null() { 0 } else { count as usize }) };
            watch(thread, module, sets, unit, arguments, frame);
        }
    });
}

/// The unit of a frame that was found, not told of.
pub const NOBODY: u32 = u32::MAX;

/// The first calls are watched, then one in two, in four, ...: how many are left out before the next.
fn until_next(calls: u64) -> i32 {
    let first = CALLS.load(Ordering::Relaxed).max(1);
    if calls < first {
        return 0;
    }
    let period = (calls / first).max(1).checked_next_power_of_two().unwrap_or(1 << 30);
    i32::try_from(period - 1).unwrap_or(i32::MAX)
}

/// So many are left out because sets of earlier ones were too large to walk, which takes long: more each time.
fn after_failures(module: &Watched, unit: u32) -> i32 {
    match module.tallies.get(unit, Tally::Unwalked) {
        0 => 0,
        n => (1 << n.min(20)) - 1,
    }
}

/// Whether no call of a unit was checked to its end yet, and few tries were made.
fn is_fresh(module: &Watched, unit: u32) -> bool {
    let [checked, unwalked, partly] =
        [Tally::Checked, Tally::Unwalked, Tally::Partly].map(|tally| module.tallies.get(unit, tally));
    checked == 0 && unwalked + partly < TRIES
}

/// Whether there is time for more; `fresh` if it is for what was never checked.
fn has_time(thread: &mut Thread, fresh: bool) -> bool {
    let deadline = DEADLINE.load(Ordering::Relaxed);
    let more = if fresh { LONGEST.load(Ordering::Relaxed) } else { 0 };
    if deadline != 0 && sys::time() >= deadline.saturating_add(more) {
        return false;
    }
    effort::allows(if thread.watching > 0 { thread.since } else { u64::MAX }, fresh)
}

fn watch(thread: &mut Thread, module: &Watched, sets: Sets<'_>, unit: u32, arguments: &[u64], frame: usize) {
    if thread.watching >= WATCHED {
        // A unit that was never seen to its end goes before the outermost one.
        if module.tallies.get(unit, Tally::Checked) > 0 {
            return;
        }
        drop_watch(thread, 0);
    }
    let begins = thread.watching == 0;
    let since = if begins { effort::now() } else { thread.since };
    if begins && (thread.looked == 0 || since.saturating_sub(thread.looked) > LOOK) {
        regions::look();
        thread.looked = since.max(1);
    }
    let (Some(frames), Some(watch)) = (thread.frames.get(..thread.depth), thread.watches.get_mut(thread.watching))
    else {
        return;
    };
    watch.bytes.clear();
    // SAFETY: as in `enter`.
    let table = unsafe { &(*module.record).sets };
    let mut blocks = memory::Room::new();
    let (room, bytes, memory) = (&mut thread.room, &mut watch.bytes, Memory::new(&mut blocks));
    match (Walk { sets, table, arguments, frame, frames, room, bytes, memory, steps: 0 }).run(unit) {
        Ok(Walked { bytes, foreign }) => {
            thread.begun += 1;
            (watch.frame, watch.record, watch.unit, watch.foreign) = (frame, module.record, unit, foreign);
            (watch.set, watch.read, watch.number) = (bytes, 0, thread.begun);
            watch.held.reset(sets.unit(unit).is_some_and(|set| set.hides_at_end));
            thread.watching += 1;
            thread.note_innermost();
            if begins {
                thread.since = since;
                gate::open();
            }
        }
        Err(_) => {
            module.tallies.add(unit, Tally::Unwalked, 1);
            if begins {
                effort::spent(since);
                thread.depth = 0;
            }
        }
    }
}

/// The unit with that frame returns.
pub fn leave(frame: usize) {
    if is_active() {
        thread::with(|thread| {
            misses::release(thread, frame);
            drop_dead(thread, frame);
        });
    }
}

/// The process or a module ends: so do all watches of this thread.
pub fn end_all() {
    if is_active() {
        thread::with(drop_all);
    }
}

/// Whether this thread watches.
pub fn is_watching() -> bool {
    is_active() && thread::with(|thread| thread.watching > 0) == Some(true)
}

fn drop_all(thread: &mut Thread) {
    while thread.watching > 0 {
        drop_watch(thread, 0);
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
    let before = thread.watching;
    while let Some(top) = thread.watching.checked_sub(1) {
        let Some(watch) = thread.watches.get(top).filter(|w| w.frame <= frame) else { break };
        if let Some(module) = module(watch.record) {
            module.tallies.add(watch.unit, Tally::Checked, 1);
            module.tallies.add(watch.unit, Tally::Set, watch.set);
            module.tallies.add(watch.unit, Tally::Read, watch.read);
        }
        thread.watching = top;
    }
    if thread.watching < before {
        ended(thread);
    }
}

/// Gives a watch up.
fn drop_watch(thread: &mut Thread, index: usize) {
    let Some(rest) = thread.watches.get_mut(index..thread.watching) else { return };
    if let Some((watch, module)) = rest.first().and_then(|watch| Some((watch, module(watch.record)?))) {
        module.tallies.add(watch.unit, Tally::Partly, 1);
    }
    for pair in 1..rest.len() {
        if let Ok([before, after]) = rest.get_disjoint_mut([pair - 1, pair]) {
            core::mem::swap(before, after);
        }
    }
    thread.watching -= 1;
    ended(thread);
}

/// Watches are over.
fn ended(thread: &mut Thread) {
    thread.note_innermost();
    if thread.watching == 0 {
        thread.depth = 0;
        effort::spent(thread.since);
        gate::close();
    }
}

/// Looks at the clock from time to time.
fn tick(thread: &mut Thread) {
    thread.ticks += 1;
    if thread.ticks >= TICKS {
        thread.ticks = 0;
        // What was begun for the sake of what is fresh may go on as long.
        if !has_time(thread, true) {
            drop_all(thread);
        }
    }
}

/// Does something to each watch for which a piece of a line is neither local nor dealt with. Returns the number of a watch that has
/// no more room.
fn each(
    thread: &mut Thread,
    address: usize,
    size: usize,
    mut f: impl FnMut(usize, &mut Watch) -> Result<(), Full>,
) -> Option<usize> {
    let here = arch::stack_pointer();
    let (line, bytes) = (address / LINE, bits(address % LINE, size));
    let known = thread.dealt_with(line, bytes);
    let mut full = None;
    for (i, watch) in thread.watches.iter_mut().take(thread.watching).enumerate() {
        let local = (here..watch.frame).contains(&address);
        if watch.number > known && !local && f(i, watch).is_err() {
            full = Some(i);
        }
    }
    thread.deal_with(line, bytes);
    full
}

fn give_up(thread: &mut Thread, index: Option<usize>) {
    if let Some(index) = index {
        drop_watch(thread, index);
    }
}

/// Calls `f` with the address and size of each piece that lies in one line.
fn pieces(address: usize, size: usize, mut f: impl FnMut(usize, usize)) {
    let (mut at, mut left) = (address, size.min(usize::MAX - address));
    while left > 0 {
        let n = left.min(LINE - at % LINE);
        f(at, n);
        (at, left) = (at + n, left - n);
    }
}

/// A unit with that frame is at work: those below were jumped out of, or something was thrown through them.
fn drop_below(thread: &mut Thread, frame: usize) {
    let here = arch::stack_pointer();
    // Units have frame pointers. If whoever calls has none, this may be anything.
    let is_frame = (here..here.saturating_add(LARGEST_STACK)).contains(&frame);
    drop_dead(thread, if is_frame { frame - 1 } else { here });
}

/// Memory is about to be read by the unit with that frame.
pub fn read(address: usize, size: usize, site: u32, frame: usize) {
    if !is_active() || size == 0 {
        return;
    }
    thread::with(|thread| {
        if thread.watching == 0 || thread.is_done(address, size) {
            return;
        }
        drop_below(thread, frame);
        pieces(address, size, |address, size| {
            let mut missed = [0_u64; WATCHED];
            let mut any = false;
            let full = each(thread, address, size, |i, watch| {
                let reading = watch.bytes.read(address, size)?;
                watch.read += reading.new - reading.missed;
                if let Some(place) = missed.get_mut(i).filter(|_| reading.missed > 0) {
                    (*place, any) = (reading.missed, true);
                }
                Ok(())
            });
            if any {
                misses::report(thread, address, &missed, site);
            }
            give_up(thread, full);
        });
        tick(thread);
    });
}

/// A text is about to be read.
pub fn read_text(address: usize, site: u32, frame: usize) {
    if is_watching() {
        read(address, Memory::new(&mut memory::Room::new()).text_length(address, MOST), site, frame);
    }
}

/// Memory is written by the unit with that frame.
pub fn write(address: usize, size: usize, frame: usize) {
    if is_active() && size > 0 {
        thread::with(|thread| {
            if thread.watching > 0 && !thread.is_done(address, size) {
                drop_below(thread, frame);
                written(thread, address, size);
                tick(thread);
            }
        });
    }
}

fn written(thread: &mut Thread, address: usize, size: usize) {
    if size > 64 * LINE {
        // Too long for single lines: tables know ranges.
        let here = arch::stack_pointer();
        let mut i = 0;
        while let Some(watch) = thread.watches.get_mut(..thread.watching).and_then(|w| w.get_mut(i)) {
            let local = (here..watch.frame).contains(&address);
            if !local && watch.bytes.write(address, size).is_err() {
                drop_watch(thread, i);
            } else {
                i += 1;
            }
        }
        return;
    }
    pieces(address, size, |address, size| {
        let full = each(thread, address, size, |_, watch| watch.bytes.write(address, size));
        give_up(thread, full);
    });
}

/// Memory was allocated: what was there before is nobody's state.
pub fn allocated(address: usize, size: usize) {
    if !is_active() || address == 0 {
        return;
    }
    let size =
        if size as u64 == TEXT { Memory::new(&mut memory::Room::new()).text_length(address, MOST) } else { size };
    thread::with(|thread| {
        if size as u64 == FIXED {
            // What a pointer to it leads to can't be told from the library's own state.
            let watches = thread.watches.get_mut(..thread.watching).unwrap_or_default();
            return watches.iter_mut().for_each(|watch| watch.foreign = true);
        }
        if size as u64 & MEASURED != 0 {
            return objects::insert(address, size & !(MEASURED as usize), Kind::Heap);
        }
        objects::insert(address, size, Kind::Heap);
        if thread.watching > 0 && size > 0 {
            drop_dead(thread, arch::stack_pointer());
            written(thread, address, size);
        }
    });
}

/// Memory is given back.
pub fn freed(address: usize) {
    if is_active() && address != 0 {
        thread::with(|_| objects::remove(address));
    }
}
