//! Misses go to the event log, each unit and instruction once.

use super::module;
use super::objects::{self, Kind, Object};
use super::thread::{DEPTH, Thread, WATCHED, Watch};
use super::watch::NOBODY;
use crate::scratch::Scratch;
use crate::sys::{self, Errno};
use crate::{run, sink};
use core::sync::atomic::{AtomicU64, Ordering};
use unseen_abi::access::Tally;
use unseen_abi::event;

/// How many different misses are reported.
const MISSES: usize = 1 << 12;
/// How many units of the chain a miss names.
const CHAIN: usize = 32;
/// How many misses of a call are held back.
const HELD: usize = 16;
/// What lies so far above the outermost frame that is known is on the stack.
const STACK: usize = 1 << 16;

/// The misses that were reported, as hashes.
static REPORTED: [AtomicU64; MISSES] = [const { AtomicU64::new(0) }; MISSES];

/// A miss.
#[derive(Clone, Copy)]
struct Miss {
    address: usize,
    object: Option<Object>,
    missed: u64,
    site: u32,
    on_stack: bool,
    /// The units that were active, the last ones.
    chain: [u32; CHAIN],
}

/// The misses of a call whose set says nothing of calls that do not return: they count when it does. All zero at first.
pub struct Held {
    holds: bool,
    count: usize,
    misses: [Miss; HELD],
}

impl Held {
    /// Forgets what is held, and holds more or not.
    pub fn reset(&mut self, holds: bool) {
        (self.holds, self.count) = (holds, 0);
    }

    fn add(&mut self, miss: Miss) {
        let known = self.misses.get_mut(..self.count).unwrap_or_default().iter_mut().find(|m| m.site == miss.site);
        if let Some(known) = known {
            known.missed += miss.missed;
        } else if let Some(place) = self.misses.get_mut(self.count) {
            *place = miss;
            self.count += 1;
        }
    }
}

/// Writes misses down, unless they are known or to be held back. `missed` has the number of bytes for each watch.
pub fn report(thread: &mut Thread, address: usize, missed: &[u64; WATCHED], site: u32) {
    let object = objects::find(address);
    if object.is_some_and(|o| o.kind == Kind::Constant) {
        return;
    }
    let mut chain = [NOBODY; CHAIN];
    let active = thread.units.get(..thread.depth.min(DEPTH)).unwrap_or_default();
    let active = active.get(active.len().saturating_sub(CHAIN)..).unwrap_or_default();
    chain.iter_mut().zip(active).for_each(|(place, unit)| *place = *unit);
    let outermost = thread.frames.first().copied();
    for (watch, missed) in thread.watches.iter_mut().take(thread.watching).zip(missed) {
        if *missed == 0 || (object.is_none() && (watch.foreign || watch.bytes.is_loose(address))) {
            continue;
        }
        let end = outermost.unwrap_or(watch.frame).saturating_add(STACK);
        let on_stack = (watch.frame..end).contains(&address);
        let miss = Miss { address, object, missed: *missed, site, on_stack, chain };
        if watch.held.holds {
            watch.held.add(miss);
        } else {
            tell(watch, &miss);
        }
    }
}

/// The unit with that frame returns: what was held back for it counts.
pub fn release(thread: &Thread, frame: usize) {
    let returning = thread.watches.iter().take(thread.watching).filter(|watch| watch.frame == frame);
    for watch in returning {
        for miss in watch.held.misses.get(..watch.held.count).unwrap_or_default() {
            tell(watch, miss);
        }
    }
}

fn tell(watch: &Watch, miss: &Miss) {
    let Some(module) = module(watch.record) else { return };
    module.tallies.add(watch.unit, Tally::Missed, miss.missed);
    if is_new(watch, miss.site) {
        append(watch, miss);
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

fn append(watch: &Watch, miss: &Miss) {
    let Some(run) = run::decided() else { return };
    let Ok(mut scratch) = Scratch::map() else { return };
    let scratch = &mut *scratch;
    // SAFETY: the constant that the pass emitted stays while its module's code runs.
    let id = unsafe { (*watch.record).id };
    let result = sink::append(run, event::Kind::Miss, &mut scratch.path, &mut scratch.record, |text| {
        let text = text.decimal(sys::time()).bytes(b"\0").decimal(sys::process_id().into()).bytes(b"\0");
        let text = text.hex_bytes(&id).bytes(b"\0").decimal(watch.unit.into()).bytes(b"\0").decimal(miss.site.into());
        let text = text.bytes(b"\0").hex(miss.address as u64).bytes(b"\0").decimal(miss.missed).bytes(b"\0");
        let text = match miss.object {
            Some(o) => {
                let offset = miss.address.wrapping_sub(o.start) as u64;
                match o.kind {
                    Kind::Variable(n) => text.bytes(b"variable ").decimal(n.into()).bytes(b" ").decimal(offset),
                    _ => text.bytes(b"heap ").decimal(o.size as u64).bytes(b" ").decimal(offset),
                }
            }
            None if miss.on_stack => text.bytes(b"stack"),
            None => text.bytes(b"unknown"),
        };
        let told = miss.chain.iter().filter(|unit| **unit != NOBODY);
        told.fold(text.bytes(b"\0"), |text, unit| text.decimal((*unit).into()).bytes(b" "))
    });
    if result.is_err() {
        sink::append_dropped(run, &[b"a miss"], result.err().unwrap_or(Errno::INVALID), scratch);
    }
}
