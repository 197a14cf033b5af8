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
/// What lies so far above the outermost frame that is known is on the stack.
const STACK: usize = 1 << 16;

/// The misses that were reported, as hashes.
static REPORTED: [AtomicU64; MISSES] = [const { AtomicU64::new(0) }; MISSES];

/// Writes misses down, unless they are known. `missed` has the number of bytes for each watch.
pub fn report(thread: &Thread, address: usize, missed: &[u64; WATCHED], site: u32) {
    let object = objects::find(address);
    if object.is_some_and(|o| o.kind == Kind::Constant) {
        return;
    }
    for (watch, missed) in thread.watches.iter().take(thread.watching).zip(missed) {
        if *missed == 0 || (object.is_none() && (watch.foreign || watch.bytes.is_loose(address))) {
            continue;
        }
        let Some(module) = module(watch.record) else { continue };
        module.tallies.add(watch.unit, Tally::Missed, *missed);
        if is_new(watch, site) {
            append(thread, watch, address, object, *missed, site);
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

fn append(thread: &Thread, watch: &Watch, address: usize, object: Option<Object>, missed: u64, site: u32) {
    let Some(run) = run::decided() else { return };
    let Ok(mut scratch) = Scratch::map() else { return };
    let scratch = &mut *scratch;
    // SAFETY: the constant that the pass emitted stays while its module's code runs.
    let id = unsafe { (*watch.record).id };
    let outermost = thread.frames.first().copied().unwrap_or(watch.frame);
    let on_stack = (watch.frame..outermost.saturating_add(STACK)).contains(&address);
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
        let told = active.iter().filter(|unit| **unit != NOBODY);
        told.fold(text.bytes(b"\0"), |text, unit| text.decimal((*unit).into()).bytes(b" "))
    });
    if result.is_err() {
        sink::append_dropped(run, &[b"a miss"], result.err().unwrap_or(Errno::INVALID), scratch);
    }
}
