//! Entry points by which tests reach the sandbox from C (`tests/support/trial.h`). In no program.

use crate::arch::Caller;
use crate::registers::Registers;
use crate::sandbox::{self, Fail, Job, Keep, Limits, Outcome, Part, Report, Side};
use crate::text::Text;
use crate::unwind::modules::Modules;
use crate::unwind::{self, End, Rows};
use crate::{arch, sys};
use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// How many of each outcome there were, and the last report of each test number.
#[repr(C)]
struct Told {
    /// 0 while there is none, then 1 pass, 2 fail, 3 crash, 4 timeout, 5 environment.
    outcome: u32,
    test: u32,
    /// The exit code or signal.
    code: u32,
    missing: u32,
    address: u64,
    wall_ns: u64,
    cpu_ns: u64,
    stall_ns: u64,
    left_out: u64,
    supervisor: u32,
    output_length: u32,
    why: [u8; 128],
    output: [u8; 512],
    thread: u32,
    thread_name: [u8; 16],
    /// As [`Part`] describes them, and a zero.
    modules: [u8; 1024],
    callers: [u8; 1024],
    place: [u8; 1024],
}

const MOST: usize = 64;

struct Reports(UnsafeCell<[Told; MOST]>);
// SAFETY: each test has its own entry, which is read when its outcome is there.
unsafe impl Sync for Reports {}
static REPORTS: Reports = Reports(UnsafeCell::new(
    [const {
        Told {
            outcome: 0,
            test: 0,
            code: 0,
            missing: 0,
            address: 0,
            wall_ns: 0,
            cpu_ns: 0,
            stall_ns: 0,
            left_out: 0,
            supervisor: 0,
            output_length: 0,
            why: [0; 128],
            output: [0; 512],
            thread: 0,
            thread_name: [0; 16],
            modules: [0; 1024],
            callers: [0; 1024],
            place: [0; 1024],
        }
    }; MOST],
));
/// Whether `finish` is to crash.
static CRASHES: AtomicU32 = AtomicU32::new(0);
static COUNTS: [AtomicU32; 6] = [const { AtomicU32::new(0) }; 6];

fn finish(job: &Job, report: &Report<'_>) {
    let (outcome, code, address) = match report.outcome {
        Outcome::Pass => (1, 0, None),
        Outcome::Fail(Fail::Verdict | Fail::Differs) => (2, u32::MAX, None),
        Outcome::Fail(Fail::Exited(code)) => (2, code, None),
        Outcome::Crash { signal, address } => (3, signal, address),
        Outcome::Timeout => (4, 0, None),
        Outcome::Environment(_) => (5, 0, None),
    };
    if CRASHES.load(SeqCst) != 0 {
        // SAFETY: none: that is what it is for.
        unsafe { core::ptr::null_mut::<u32>().wrapping_add(2).write_volatile(1) };
    }
    // SAFETY: nobody else writes this entry, and nobody reads it before its outcome is there.
    if let Some(told) = unsafe { (*REPORTS.0.get()).get_mut(job.data) } {
        told.test = report.test;
        told.code = code;
        told.missing = report.missing.0;
        told.address = address.unwrap_or(0);
        (told.wall_ns, told.cpu_ns, told.stall_ns) = (report.wall_ns, report.cpu_ns, report.stall_ns);
        told.left_out = report.left_out;
        told.supervisor = sys::process_id();
        told.why = [0; 128];
        if let Outcome::Environment(reason) = report.outcome {
            reason.describe(Text::new(&mut told.why));
        }
        let n = report.output.len().min(told.output.len() - 1);
        let from = report.output.get(report.output.len() - n..).unwrap_or_default();
        if let Some(to) = told.output.get_mut(..n) {
            to.copy_from_slice(from);
        }
        told.output_length = n as u32;
        told.thread = report.thread;
        copy(&mut told.thread_name, report.thread_name);
        copy(&mut told.modules, report.account.part(Part::Modules));
        copy(&mut told.callers, report.account.part(Part::Callers));
        copy(&mut told.place, report.account.part(Part::Place));
        // SAFETY: aligned, and read as an atomic by whoever waits for it.
        unsafe { AtomicU32::from_ptr(&raw mut told.outcome) }.store(outcome, SeqCst);
    }
    if let Some(count) = COUNTS.get(outcome as usize) {
        count.fetch_add(1, SeqCst);
    }
}

/// The bytes and a zero, if there is room.
fn copy(to: &mut [u8], from: &[u8]) {
    to.fill(0);
    let Some(room) = to.len().checked_sub(1) else { return };
    if let (Some(to), true) = (to.get_mut(..from.len()), from.len() <= room) {
        to.copy_from_slice(from);
    }
}

/// 0 in the program, 1 in the test, 2 if there are too many, 3 if it failed. Reports go to entry `test % 64`.
#[unsafe(export_name = "__unseen_trial_split")]
unsafe extern "C" fn split(limits: *const [u64; 5], test: u32, scratch: *const c_char) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { split_with(limits, test, scratch, None, arch::caller()) }
}

/// The same with a fork that may leave out all memory but these ranges: `count` pairs of address and length.
#[unsafe(export_name = "__unseen_trial_project")]
unsafe extern "C" fn project(
    limits: *const [u64; 5],
    test: u32,
    scratch: *const c_char,
    ranges: *const [usize; 2],
    count: usize,
) -> i32 {
    let caller = arch::caller();
    let Ok(mut keep) = Keep::map() else { return 3 };
    for i in 0..count {
        // SAFETY: so many are there.
        let [start, length] = unsafe { ranges.add(i).read() };
        if keep.add(start, length).is_none() {
            return 3;
        }
    }
    let keep = sandbox::is_worthwhile().then_some(&mut *keep);
    // SAFETY: the caller's promise.
    unsafe { split_with(limits, test, scratch, keep, caller) }
}

unsafe fn split_with(
    limits: *const [u64; 5],
    test: u32,
    scratch: *const c_char,
    keep: Option<&mut Keep>,
    caller: Caller,
) -> i32 {
    // SAFETY: a test's own limits, and a path that stays.
    let ([deadline_ns, cpu_seconds, memory_bytes, at_once, strict], scratch) =
        unsafe { (*limits, CStr::from_ptr(scratch)) };
    let strict = if strict > 1 { sandbox::is_strict() } else { strict == 1 };
    let limits = Limits { deadline_ns, cpu_seconds, memory_bytes, at_once: at_once as u32, strict };
    let entry = test as usize % MOST;
    if !sandbox::is_test() {
        // SAFETY: no test with this entry is under way.
        if let Some(told) = unsafe { (*REPORTS.0.get()).get_mut(entry) } {
            told.outcome = 0;
        }
    }
    match sandbox::split(&limits, &Job { test, data: entry, scratch }, keep, finish) {
        Side::Host => 0,
        Side::Test => {
            sandbox::set_caller(caller, 0);
            1
        }
        Side::Busy => 2,
        Side::Failed(_) => 3,
    }
}

#[unsafe(export_name = "__unseen_trial_leave")]
extern "C" fn leave(passed: i32) -> ! {
    sandbox::leave(passed != 0)
}

#[unsafe(export_name = "__unseen_trial_is_test")]
extern "C" fn is_test() -> i32 {
    i32::from(sandbox::is_test())
}

#[unsafe(export_name = "__unseen_trial_report")]
extern "C" fn report(test: u32) -> *const u8 {
    REPORTS.0.get().cast::<Told>().wrapping_add(test as usize % MOST).cast::<u8>()
}

/// How many tests had that outcome.
#[unsafe(export_name = "__unseen_trial_count")]
extern "C" fn count(outcome: u32) -> u32 {
    COUNTS.get(outcome as usize).map_or(0, |count| count.load(SeqCst))
}

#[unsafe(export_name = "__unseen_trial_end_all")]
extern "C" fn end_all() {
    sandbox::end_all();
}

/// From now on `finish` crashes, or does not.
#[unsafe(export_name = "__unseen_trial_crash")]
extern "C" fn crash(crashes: u32) {
    CRASHES.store(crashes, SeqCst);
}

struct Walker(UnsafeCell<(Modules, Rows)>);
// SAFETY: tests that walk do so in one thread at a time.
unsafe impl Sync for Walker {}
static WALKER: Walker = Walker(UnsafeCell::new((Modules::new(), Rows::new())));

/// The addresses of the frames; negative if there is more than that.
fn walk(mut registers: Registers, is_exact: bool, to: *mut u64, most: u32) -> i32 {
    // SAFETY: as above.
    let (modules, rows) = unsafe { &mut *WALKER.0.get() };
    modules.memory.forget();
    let mut n = 0;
    let end = unwind::walk(modules, rows, &mut registers, is_exact, most as usize, |_, address, _| {
        // SAFETY: a test's own room for so many.
        unsafe { to.add(n as usize).write(address as u64) };
        n += 1;
    });
    if end == End::Cut { -n } else { n }
}

/// Walks from whoever calls this.
#[unsafe(export_name = "__unseen_trial_walk")]
extern "C" fn walk_caller(to: *mut u64, most: u32) -> i32 {
    walk(arch::caller().registers(), false, to, most)
}

/// Walks from where a signal came.
#[unsafe(export_name = "__unseen_trial_walk_trapped")]
unsafe extern "C" fn walk_trapped(context: *const c_void, to: *mut u64, most: u32) -> i32 {
    // SAFETY: what a handler was given.
    walk(unsafe { arch::trapped_registers(context) }, true, to, most)
}
