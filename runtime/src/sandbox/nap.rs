//! Somebody who sleeps for a while and then calls a function, in a process that shares the program's memory: a supervisor without a test.
//! So the program has neither a timer nor a thread more.

use super::projection::Outside;
use super::slots::{self, Slot};
use super::{Finish, Job, Limits, kernel, signals, supervisor};
use crate::{arch, sys};
use core::ffi::c_void;
use linux_raw_sys::general as k;

/// What it is called in a list of processes.
const NAME: &core::ffi::CStr = c"unseen-nap";
/// After so long it looks whether the program is still there, in ns.
const LOOK: u64 = 50_000_000;

/// Calls `wake` after so many ns, in a process that shares our memory, but has neither libc nor thread-locals. Whether it will.
pub fn nap(ns: u64, wake: fn()) -> bool {
    slots::reap();
    let Ok(Some(slot)) = Slot::claim(slots::COUNT as u32) else { return false };
    let Some(mask) = signals::block_all() else {
        slot.free();
        return false;
    };
    const NOTHING: Finish = |_, _| ();
    let limits = Limits { deadline_ns: ns, cpu_seconds: 0, memory_bytes: 0, at_once: 0, strict: false };
    let job = Job { test: sys::process_id(), data: wake as usize, scratch: c"" };
    let (alternate, thread) = (signals::alternate_stack(), kernel::thread_id());
    let (outside, number, started) = (Outside::NOTHING, 0, sys::monotonic_time());
    slot.prepare(slots::Start { limits, job, finish: NOTHING, mask, alternate, outside, number, thread, started });
    let flags = k::CLONE_VM | k::CLONE_UNTRACED | k::CLONE_CHILD_CLEARTID;
    // SAFETY: the slot has a stack of its own, which nobody else uses until the slot is free again.
    let result = unsafe {
        let argument = core::ptr::from_ref(slot).cast_mut().cast();
        arch::clone_and_wait(flags as usize, slot.stack_end(), slot.life(), sleep, argument, slot.saved())
    };
    let side = slot.started(result);
    signals::set_mask(mask);
    side == super::Side::Host
}

/// It sleeps.
unsafe extern "C" fn sleep(argument: *mut c_void) -> ! {
    // SAFETY: the slot is ours until we are dead.
    let slot = unsafe { &*argument.cast::<Slot>() };
    let (start, _) = slot.start();
    kernel::set_name(NAME);
    slot.set_reported();
    slot.release(None);
    supervisor::survive_faults();
    kernel::close_range(0, u32::MAX as usize);
    let mut left = start.limits.deadline_ns;
    while left > 0 {
        let part = left.min(LOOK);
        sys::sleep(part as i64);
        left -= part;
        if sys::parent_id() != start.job.test {
            kernel::exit(0);
        }
    }
    // SAFETY: what `nap` was given.
    let wake = unsafe { core::mem::transmute::<usize, fn()>(start.job.data) };
    wake();
    kernel::exit(0)
}
