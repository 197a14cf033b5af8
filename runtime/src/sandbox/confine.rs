//! The test's side of the fork: takes from a copy of the program all that leads out of it, then lets it go on where the program stands.
//!
//! In: a [`Plan`]. Out: the test returns from `split`; or a reason why it can't be run. Works on the supervisor's stack.

use super::descriptors::Dead;
use super::filter::Filter;
use super::note::{self, Note};
use super::outcome::{Missing, Reason};
use super::signals::Action;
use super::slots::Start;
use super::{IS_TEST, descriptors, directory, filter, kernel, landlock, mappings, outside, signals, supervisor, trap};
use crate::arch;
use crate::sys::{self, Errno};
use core::sync::atomic::Ordering;
use linux_raw_sys::general as k;
use linux_raw_sys::prctl;

/// What a new test needs to know. On the supervisor's stack, of which the test has a copy.
pub struct Plan<'a> {
    pub start: &'a Start,
    pub supervisor: u32,
    pub note: *mut Note,
    pub number: u64,
    /// The descriptor for what it writes.
    pub capture: Option<usize>,
    /// What the program does about `SIGCHLD`.
    pub child_action: Action,
    /// Where the program's thread waits.
    pub saved: usize,
    /// Where the stack begins that we are on, and its length: free when the test is back on its own.
    pub stack: (usize, usize),
}

/// Why a step of this failed.
fn setup(why: Errno) -> Reason {
    Reason::Setup(why.0)
}

/// Confines this process, and goes on in it where the program stands.
pub fn enter(plan: &Plan<'_>) -> ! {
    note::adopt(plan.note, plan.number);
    IS_TEST.store(true, Ordering::Relaxed);
    match confine(plan) {
        Ok(missing) => {
            note::tell_ready(missing);
            trap::set_mask(plan.start.mask);
            // SAFETY: a copy of the program, made while its thread waited there.
            unsafe { arch::return_from(plan.saved, supervisor::TEST) }
        }
        Err(reason) => {
            note::tell_reason(reason);
            kernel::exit(0)
        }
    }
}

fn confine(plan: &Plan<'_>) -> Result<Missing, Reason> {
    let limits = &plan.start.limits;
    let mut missing = Missing::default();
    outside::hold(&plan.start.outside)?;
    // We die with the supervisor; it may be dead already.
    kernel::control(prctl::PR_SET_PDEATHSIG, k::SIGKILL as usize).map_err(setup)?;
    if sys::parent_id() != plan.supervisor {
        return Err(Reason::Supervisor);
    }
    // No controlling terminal, no process group but our own.
    kernel::plain(k::__NR_setsid, [0; 5]).map_err(setup)?;
    prefer_to_die();
    mappings::make_private(plan.note.addr())?;
    let dead = descriptors::replace(plan.capture)?;
    let scratch = directory::make(plan.start.job.scratch, plan.supervisor);
    if scratch.is_err() {
        missing = missing.with(Missing::DIRECTORY);
    }
    set_limits(plan)?;
    set_signals(plan);
    kernel::control(prctl::PR_SET_NO_NEW_PRIVS, 1).map_err(setup)?;
    let version = match landlock::restrict(scratch.as_ref().ok()) {
        Ok(version) => version,
        Err(_) if limits.strict => return Err(Reason::NoLandlock),
        Err(_) => 0,
    };
    if version == 0 {
        missing = missing.with(Missing::LANDLOCK);
    }
    drop(scratch);
    filter_calls(plan, &dead, version, missing)
}

/// The last step: from here on system calls are filtered.
fn filter_calls(plan: &Plan<'_>, dead: &Dead, version: u32, missing: Missing) -> Result<Missing, Reason> {
    let process = sys::process_id();
    trap::prepare(version, process);
    let is_projected = !plan.start.outside.is_nothing();
    let facts = filter::Facts { process, thread: plan.start.thread, gate: trap::gate(), dead, is_projected };
    let filter = Filter::new(&facts);
    match filter.install() {
        Ok(()) => Ok(missing),
        Err(_) if plan.start.limits.strict => Err(Reason::NoSeccomp),
        // Nobody would see how it handles faults, and what it does to memory that it lacks.
        Err(_) if is_projected => Err(Reason::Outside(0)),
        // Libc takes the test's thread for the program's: what it sends to itself would go there.
        Err(_) if version < landlock::SCOPES => Err(Reason::NoSeccomp),
        Err(_) => Ok(missing.with(Missing::SECCOMP)),
    }
}

/// Where memory runs out, it is this process that goes, not the program.
fn prefer_to_die() {
    if let Ok(file) = kernel::open(c"/proc/self/oom_score_adj", k::O_WRONLY) {
        let _ = file.append(b"1000");
    }
}

fn set_limits(plan: &Plan<'_>) -> Result<(), Reason> {
    let limits = &plan.start.limits;
    let seconds = limits.cpu_seconds.max(1);
    let memory = address_space().ok_or(Reason::NoProc)?.saturating_add(limits.memory_bytes);
    // Of a core file one byte: with 0, a kernel that pipes them into a program would still do so.
    for (resource, soft, hard) in [
        (k::RLIMIT_CORE, 1, 1),
        (k::RLIMIT_CPU, seconds, seconds.saturating_add(1)),
        (k::RLIMIT_FSIZE, limits.memory_bytes, limits.memory_bytes),
        (k::RLIMIT_AS, memory, memory),
    ] {
        kernel::set_limit(resource, soft, hard).map_err(setup)?;
    }
    Ok(())
}

/// Bytes of address space in use.
fn address_space() -> Option<u64> {
    let mut content = [0; 2048];
    let status = kernel::read_file(c"/proc/self/status", &mut content).ok()?;
    let line = status.split(|b| *b == b'\n').find_map(|line| line.strip_prefix(b"VmSize:"))?;
    let digits = line.iter().filter(|b| b.is_ascii_digit());
    let kilobytes = digits.fold(0_u64, |n, digit| n.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')));
    Some(kilobytes.saturating_mul(1024))
}

fn set_signals(plan: &Plan<'_>) {
    signals::set_action(k::SIGCHLD, &plan.child_action);
    trap::handle_signals(!plan.start.outside.is_nothing());
    let [_, flags, _] = plan.start.alternate;
    let (address, length) = plan.stack;
    // The clone took it away. Who has none gets one, so that an endless recursion can be told from other crashes.
    let has_one = flags & k::SS_DISABLE as usize == 0;
    signals::set_alternate_stack(if has_one { plan.start.alternate } else { [address, 0, length / 2] });
}
