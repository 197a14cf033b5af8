//! The sandbox: a copy of the live process in which a test runs. Nothing it does reaches the program.
//!
//! In: [`Limits`], a [`Job`], and a [`Keep`] for a fork that leaves memory out. Out: in the copy [`Side::Test`], in the program
//! [`Side::Host`], and later one call of `finish` with a [`Report`].
//!
//! Three processes. The program's thread clones a *supervisor*, which shares the program's memory but neither its descriptors nor
//! its signal handlers nor its threads, and stands still until that has forked the *test*, a copy of the program as it stood. The
//! supervisor keeps the deadline, decides on the outcome, reports it and exits. It is a child without an exit signal: neither
//! `wait` nor `SIGCHLD` know of it, and the test is the supervisor's child, not the program's.
//!
//! The fork is the bare system call, not libc's. So the program's fork handlers don't run, nothing of libc's is locked that the
//! thread or the program might hold, and a unit can be tested wherever it is called, in a signal handler too. What another
//! thread had locked stays locked in the copy: a test that needs such a lock sleeps for ever, which the supervisor
//! notices soon, and which is the environment's fault, never the test's.
//!
//! The way of a test: [`slots`] (is there room) → [`projection`] (what is left out) → [`supervisor`] → [`confine`] ([`outside`],
//! [`mappings`], [`descriptors`], [`landlock`], [`signals`], [`filter`]) → the test → [`leave`], or [`trap`] where it asks for what it
//! can't have → [`note`] → [`supervisor`] → `finish`.
//!
//! It never runs a test that could reach the program: what can't be confined is an outcome of its own, with the reason.

mod account;
mod areas;
mod calls;
mod confine;
mod descriptors;
mod directory;
mod filter;
mod hang;
mod kernel;
mod landlock;
mod mappings;
mod nap;
mod note;
mod outcome;
mod outside;
mod projection;
mod signals;
mod slots;
mod supervisor;
mod trap;

use crate::arch::Caller;
use crate::sys::{self, Errno};
use crate::{arch, environment, run};
pub use account::{Part, tell};
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, Ordering};
use linux_raw_sys::general as k;
pub use mappings::leave_out;
pub use nap::nap;
pub use outcome::{Fail, Outcome, Reason, Report};
use projection::Outside;
pub use projection::{Keep, MappedKeep, is_worthwhile};
use slots::Slot;
pub use slots::adopt;
use unseen_abi::options;

/// What a test may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// So long it may take.
    pub deadline_ns: u64,
    /// So much CPU time; at least 1.
    pub cpu_seconds: u64,
    /// So much more address space than the program has, and so large files.
    pub memory_bytes: u64,
    /// So many tests of this process at once; never more than [`slots::COUNT`].
    pub at_once: u32,
    /// Whether a test is not run where the kernel lacks a protection (`UNSEEN_SANDBOX`).
    pub strict: bool,
}

/// What is tested. Copied; `finish` gets it back.
#[derive(Clone, Copy)]
pub struct Job {
    /// Whatever names the test.
    pub test: u32,
    /// Whatever else `finish` needs.
    pub data: usize,
    /// A directory in which each test gets one of its own, the only place where it may write; gone with the test. Made if missing,
    /// but not what is above it.
    pub scratch: &'static CStr,
}

/// Where one finds oneself after [`split`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// In the program; the test is under way.
    Host,
    /// In the program; as many tests as may be are under way, and no other was started.
    Busy,
    /// In the program; no test could be started.
    Failed(Errno),
    /// In the copy: run the test, then [`leave`].
    Test,
}

/// Called once for each test, in the supervisor: it shares memory with the program, but has neither libc nor thread-locals, 64 KiB of
/// stack at most, and only system calls for the rest. If the supervisor was killed, a later [`split`] calls it.
pub type Finish = fn(&Job, &Report<'_>);

/// What supervisors and tests are called in a list of processes. The kernel cuts what is longer than 15 bytes.
const NAME: &CStr = c"unseen-test";

static IS_TEST: AtomicBool = AtomicBool::new(false);

/// Whether this is a test. Hooks do nothing then.
#[inline]
pub fn is_test() -> bool {
    IS_TEST.load(Ordering::Relaxed)
}

/// Starts a test with a copy of this process as it is now. Returns in both. All signals wait meanwhile. With `keep`, what is neither in
/// there nor ours may be missing in the copy: a test that touches it ends with [`Reason::Outside`].
#[inline(never)]
pub fn split(limits: &Limits, job: &Job, keep: Option<&mut Keep>, finish: Finish) -> Side {
    if is_test() {
        return Side::Failed(Errno::INVALID);
    }
    if run::is_locked_in() {
        return Side::Failed(Errno::INVALID);
    }
    if arch::has_shadow_stack() {
        return Side::Failed(Errno::UNSUPPORTED);
    }
    let started = sys::monotonic_time();
    slots::reap();
    let slot = match Slot::claim(limits.at_once) {
        Ok(Some(slot)) => slot,
        Ok(None) => return Side::Busy,
        Err(why) => return Side::Failed(why),
    };
    let thread = kernel::thread_id();
    let number = started.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(thread) << 40;
    if let Err(why) = slot.map_note(number) {
        slot.free();
        return Side::Failed(why);
    }
    let Some(mask) = signals::block_all() else {
        slot.free();
        return Side::Failed(Errno::INVALID);
    };
    let alternate = signals::alternate_stack();
    let outside = keep.map_or(Outside::NOTHING, |keep| {
        let [signal_stack, _, signal_stack_size] = alternate;
        let (stack, stack_size) = slot.stack();
        let scratch = job.scratch.to_bytes_with_nul();
        let scratch = [scratch.as_ptr().addr(), scratch.len()];
        Outside::mark(keep, &[[signal_stack, signal_stack_size], [stack, stack_size], scratch, account::room()])
    });
    let start = slots::Start { limits: *limits, job: *job, finish, mask, alternate, outside, number, thread, started };
    slot.prepare(start);
    let flags = k::CLONE_VM | k::CLONE_UNTRACED | k::CLONE_CHILD_CLEARTID;
    // SAFETY: the slot has a stack of its own, which nobody else uses until the slot is free again.
    let result = unsafe {
        arch::clone_and_wait(
            flags as usize,
            slot.stack_end(),
            slot.life(),
            supervisor::supervise,
            core::ptr::from_ref(slot).cast_mut().cast(),
            slot.saved(),
        )
    };
    if result == supervisor::TEST {
        // The copy: the slots are gone here, and signals are as they were.
        return Side::Test;
    }
    outside.bring_back();
    let side = slot.started(result);
    signals::set_mask(mask);
    side
}

/// Ends a test. Not for the program itself: it would end that.
pub fn leave(passed: bool) -> ! {
    let outcome = if passed { note::State::Passed } else { note::State::Failed };
    if !passed && kernel::is_out_of_memory() {
        note::tell_reason(Reason::Memory);
    }
    note::tell(outcome, 0, 0);
    if !passed {
        account::tell_stacks(None);
    }
    kernel::exit(0)
}

/// Ends a test that passed, and tells the report two numbers.
pub fn leave_with(told: [u64; 2]) -> ! {
    let [a, b] = told;
    note::tell(note::State::Passed, a, b);
    // Only the comparison will tell whether it has.
    account::tell_stacks(None);
    kernel::exit(0)
}

/// In a test that begins: which code asked for it. Told if the test does not pass, but for so many frames of ours.
pub fn set_caller(caller: Caller, ours: usize) {
    account::set_caller(caller.registers(), ours);
}

/// Ends all tests that are under way: their outcome is that their supervisor was killed. To be called before our code is unloaded,
/// which supervisors run too.
pub fn end_all() {
    slots::end_all();
}

/// Whether `UNSEEN_SANDBOX` asks for all protections or none: what [`Limits::strict`] is to be.
pub fn is_strict() -> bool {
    environment::with_variables(|variables| {
        let prefix = options::SANDBOX.name.as_bytes();
        let mut values = variables.filter_map(|v| v.strip_prefix(prefix).and_then(|rest| rest.strip_prefix(b"=")));
        values.next() != Some(b"best")
    })
}
