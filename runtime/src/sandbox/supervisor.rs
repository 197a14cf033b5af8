//! The supervisor: forks the test, keeps its deadline, decides on the outcome, reports it.
//!
//! In: a [`Slot`]. Out: one call of its `finish`. It has the program's memory and the thread pointer of the thread that made it, which
//! soon runs again: so it uses neither libc nor thread-locals, and of the program's memory only what is ours.

use super::account::{self, Account};
use super::confine::{self, Plan};
use super::hang::{self, Hang};
use super::note::{self, Note, State};
use super::outcome::{Fail, Missing, Outcome, Reason, Report, UNKNOWN};
use super::slots::{Slot, Start};
use super::{NAME, directory, kernel, signals};
use crate::sys::{self, File, Result};
use core::ffi::c_void;
use linux_raw_sys::general as k;
use linux_raw_sys::prctl;

/// What cloning a supervisor seems to have given, in the test.
pub const TEST: isize = isize::MAX;

/// So much is kept of what a test writes.
const OUTPUT: usize = 4096;

/// How long it is until the test is first looked at, and at most between two looks.
const FIRST_LOOK: u64 = 4_000_000;
const LAST_LOOK: u64 = 256_000_000;

/// The supervisor begins.
///
/// # Safety
/// Only as the first function of a process that shares the program's memory; the argument is its slot.
pub unsafe extern "C" fn supervise(argument: *mut c_void) -> ! {
    // SAFETY: the slot is ours until we are dead.
    let slot = unsafe { &*argument.cast::<Slot>() };
    // A copy: in the test the slots are gone.
    let (start, saved) = slot.start();
    match fork(slot, &start, saved) {
        Ok(test) => {
            let forked = sys::monotonic_time();
            slot.release(None);
            watch(slot, &start, &test, forked);
        }
        Err(why) => slot.release(Some(why)),
    }
    kernel::exit(0)
}

/// A test that was forked.
struct Test {
    process: u32,
    note: *mut Note,
    number: u64,
    capture: Option<File>,
    /// What the program's thread is called.
    thread_name: [u8; 16],
}

/// Forks the test. Does not return there.
fn fork(slot: &Slot, start: &Start, saved: usize) -> Result<Test> {
    let thread_name = account::thread_name();
    kernel::set_name(NAME);
    let _ = kernel::control(prctl::PR_SET_CHILD_SUBREAPER, 1);
    // If the program ignores it, children vanish without a word.
    let child_action = signals::action(k::SIGCHLD);
    signals::set_action(k::SIGCHLD, &signals::DEFAULT);
    let supervisor = sys::process_id();
    let (note, number) = (slot.note(), start.number);
    let capture = capture();
    let descriptor = capture.as_ref().map(File::number);
    let plan = Plan { start, supervisor, note, number, capture: descriptor, child_action, saved, stack: slot.stack() };
    // SAFETY: we have one thread, and so has the copy.
    match unsafe { kernel::fork() }? {
        0 => confine::enter(&plan),
        process => Ok(Test { process: process as u32, note, number, capture, thread_name }),
    }
}

/// A file for what the test writes, at none of the first three numbers.
fn capture() -> Option<File> {
    let file = kernel::memory_file().ok()?;
    if file.number() > 2 {
        return Some(file);
    }
    let arguments = [file.number(), k::F_DUPFD_CLOEXEC as usize, 3, 0, 0];
    kernel::plain(k::__NR_fcntl, arguments).ok().map(File::from_number)
}

/// If we crash, we just end. Kernels before 5.16 would take the program along, with which we share memory.
pub fn survive_faults() {
    unsafe extern "C" fn end(_: u32, _: *const u8, _: *mut c_void) {
        kernel::exit(0)
    }
    signals::FAULTS.iter().for_each(|signal| signals::set_action(*signal, &signals::handle(end, 0)));
    signals::set_mask(!signals::FAULTS.iter().fold(0, |mask, signal| mask | signals::only(*signal)));
}

/// Waits for the test to end, ends it if it must be, and reports.
fn watch(slot: &Slot, start: &Start, test: &Test, forked: u64) {
    survive_faults();
    // The program's files are closed when the program closes them, not when we are done.
    match test.capture.as_ref().map(File::number) {
        Some(kept) => {
            kernel::close_range(0, kept.wrapping_sub(1));
            kernel::close_range(kept.wrapping_add(1), u32::MAX as usize);
        }
        None => kernel::close_range(0, u32::MAX as usize),
    }
    let (killed, ended) = wait(test.process, forked.saturating_add(start.limits.deadline_ns));
    let wall_ns = sys::monotonic_time().saturating_sub(forked);
    // SAFETY: mapped by us.
    let said = note::read(unsafe { &*test.note }, test.number);
    let mut missing = said.map_or(Missing::default(), |(_, _, missing)| missing);
    if missing.has(Missing::SECCOMP) {
        kill_descendants(test.process);
    }
    let mut output = [0; OUTPUT];
    let output = match &test.capture {
        Some(file) => tail(file, &mut output),
        None => {
            missing = missing.with(Missing::OUTPUT);
            &[]
        }
    };
    directory::remove(start.job.scratch, sys::process_id());
    let said = said.map(|(state, details, _)| (state, details));
    let told = said.filter(|(state, _)| *state == State::Passed).map_or([0; 2], |(_, details)| details);
    let outcome = killed.unwrap_or_else(|| judge(ended.status, said, ended.cpu_ns, start.limits.cpu_seconds));
    let outcome = match outcome {
        // Its handler can't have been reached: the stack for it was left out.
        Outcome::Crash { signal: k::SIGSEGV, address: None } if !start.outside.is_nothing() => {
            Outcome::Environment(Reason::Outside(0))
        }
        outcome => outcome,
    };
    // What tells something is compared with another before anybody knows whether it has passed.
    let has_passed = outcome == Outcome::Pass && told == [0; 2];
    if has_passed {
        // Now, not when it is reported: the program's threads may keep the kernel from it for long, and the slot is taken until then.
        slot.unmap_note();
    }
    let own_stall = forked.saturating_sub(start.started);
    let report = Report {
        outcome,
        test: start.job.test,
        wall_ns,
        cpu_ns: ended.cpu_ns,
        stall_ns: if slot.stall() == 0 { own_stall } else { slot.stall() },
        own_ns: sys::cpu_time(),
        told,
        left_out: start.outside.bytes(),
        output,
        missing,
        thread: start.thread,
        thread_name: test.thread_name.split(|b| *b == 0).next().unwrap_or_default(),
        // SAFETY: the test is dead, and what it says is unmapped below.
        account: if has_passed { Account::NONE } else { unsafe { Account::of(&(*test.note).paper) } },
    };
    slot.set_reported();
    (start.finish)(&start.job, &report);
    if !has_passed {
        slot.unmap_note();
    }
}

/// Waits for a process. If it has to be killed, gives what that means.
fn wait(process: u32, mut deadline: u64) -> (Option<Outcome>, kernel::Ended) {
    let mut pause = FIRST_LOOK;
    let mut was_stuck = false;
    let mut expected = u64::MAX;
    let outcome = loop {
        let now = sys::monotonic_time();
        deadline = deadline.saturating_add(lost(expected, now));
        match kernel::wait(process as isize, k::WNOHANG) {
            Ok(Some(ended)) => return (None, ended),
            Ok(None) if now >= deadline => {
                break match hang::look(process) {
                    Hang::Forever | Hang::Locked => Outcome::Environment(Reason::Lock),
                    Hang::Otherwise => Outcome::Timeout,
                };
            }
            Ok(None) => {}
            Err(_) => break Outcome::Environment(Reason::Supervisor),
        }
        let asked = pause.min(deadline.saturating_sub(now));
        expected = now.saturating_add(asked);
        signals::wait(signals::only(k::SIGCHLD), asked);
        if pause > FIRST_LOOK {
            // Twice, since a thread may just be about to be woken.
            let is_stuck = hang::look(process) == Hang::Forever;
            if is_stuck && was_stuck {
                break Outcome::Environment(Reason::Lock);
            }
            was_stuck = is_stuck;
        }
        pause = pause.saturating_mul(2).min(LAST_LOOK);
    };
    if matches!(outcome, Outcome::Timeout | Outcome::Environment(Reason::Lock)) {
        tell_place(process);
    }
    kernel::kill(process as isize, k::SIGKILL);
    let unknown = kernel::Ended { status: 0, cpu_ns: 0 };
    (Some(outcome), kernel::wait(process as isize, 0).ok().flatten().unwrap_or(unknown))
}

/// Time that neither we nor the test had: whoever wakes up much later than he asked for was on a machine that stood still, or had no
/// processor for us.
fn lost(expected: u64, now: u64) -> u64 {
    const PATIENCE: u64 = 20_000_000;
    let late = now.saturating_sub(expected);
    if late > PATIENCE { late } else { 0 }
}

/// So long a test has to say where it is when its time is up.
const LAST_WORDS: u64 = 100_000_000;

/// Lets a test that is late say where it is, by the signal that also comes when its CPU time is used up. It need not obey.
fn tell_place(process: u32) {
    kernel::kill(process as isize, k::SIGXCPU);
    let until = sys::monotonic_time().saturating_add(LAST_WORDS);
    while !kernel::has_ended(process) && sys::monotonic_time() < until {
        signals::wait(signals::only(k::SIGCHLD), LAST_WORDS / 10);
    }
}

/// What the end of a process and what it said make together.
fn judge(status: u32, said: Option<(State, [u64; 2])>, cpu_ns: u64, cpu_seconds: u64) -> Outcome {
    let died = |signal: u32, address| match signal {
        k::SIGXCPU => Outcome::Timeout,
        k::SIGXFSZ => Outcome::Environment(Reason::FileSize),
        // A filter's last word: the signal was blocked by which we would have learnt more.
        k::SIGSYS => Outcome::Environment(Reason::Call(UNKNOWN)),
        k::SIGKILL if cpu_ns / 1_000_000_000 >= cpu_seconds => Outcome::Timeout,
        k::SIGKILL => Outcome::Environment(Reason::Killed(signal)),
        _ => Outcome::Crash { signal, address },
    };
    let (signal, code) = (status & 0x7f, status >> 8 & 0xff);
    match said {
        Some((State::Environment, [code, detail])) => Outcome::Environment(Reason::decode(code, detail)),
        // Where the program has memory now, it was not the test that went astray.
        Some((State::Strayed, [_, address])) if sys::is_readable(address as usize) => {
            Outcome::Environment(Reason::NotCopied)
        }
        Some((State::Crashed | State::Strayed, [signal, address])) => {
            died(signal as u32, (address != 0).then_some(address))
        }
        Some((State::SetUp, _)) if signal != 0 => Outcome::Environment(Reason::Killed(signal)),
        Some((State::SetUp, _)) => Outcome::Environment(Reason::Setup(0)),
        Some((State::Passed, _)) if signal == 0 => Outcome::Pass,
        Some((State::Failed, _)) if signal == 0 => Outcome::Fail(Fail::Verdict),
        // It ran, or has written over what it was to say.
        _ if signal != 0 => died(signal, None),
        _ => Outcome::Fail(Fail::Exited(code)),
    }
}

/// Kills what the test has left behind, where nothing kept it from forking: its own process group, then whatever is ours now.
fn kill_descendants(test: u32) {
    kernel::kill(-(test as isize), k::SIGKILL);
    for _ in 0..1000 {
        match kernel::wait(-1, k::WNOHANG | k::__WALL) {
            Err(_) => return,
            Ok(Some(_)) => {}
            Ok(None) => {
                hang::for_each_child(|child| kernel::kill(child as isize, k::SIGKILL));
                sys::sleep(1_000_000);
            }
        }
    }
}

/// The end of a file.
fn tail<'a>(file: &File, to: &'a mut [u8]) -> &'a [u8] {
    let length = file.length().unwrap_or(0) as usize;
    let n = length.min(to.len());
    // SAFETY: into the slice.
    match unsafe { file.read_exact_at(to.as_mut_ptr(), n, length.saturating_sub(n)) } {
        Ok(()) => to.get(..n).unwrap_or_default(),
        Err(_) => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_machine_that_stood_still_took_is_not_the_tests() {
        assert_eq!(lost(u64::MAX, 5), 0, "nobody has slept yet");
        assert_eq!(lost(1_000_000_000, 1_001_000_000), 0);
        assert_eq!(lost(1_000_000_000, 11_000_000_000), 10_000_000_000);
    }

    #[test]
    fn a_verdict_needs_words_and_a_clean_end() {
        let judge = |status, said| super::judge(status, said, 0, 5);
        let exit = |code: u32| code << 8;
        assert_eq!(judge(exit(0), Some((State::Passed, [0; 2]))), Outcome::Pass);
        assert_eq!(judge(exit(0), Some((State::Failed, [0; 2]))), Outcome::Fail(Fail::Verdict));
        assert_eq!(judge(exit(3), Some((State::Ready, [0; 2]))), Outcome::Fail(Fail::Exited(3)));
        assert_eq!(judge(exit(0), None), Outcome::Fail(Fail::Exited(0)), "the note was written over");
        assert_eq!(judge(exit(0), Some((State::SetUp, [0; 2]))), Outcome::Environment(Reason::Setup(0)));
        let crash = Outcome::Crash { signal: k::SIGSEGV, address: None };
        assert_eq!(judge(k::SIGSEGV, Some((State::Ready, [0; 2]))), crash);
        assert_eq!(judge(k::SIGSEGV, Some((State::Passed, [0; 2]))), crash);
        let strayed = |address| judge(exit(0), Some((State::Strayed, [k::SIGSEGV.into(), address])));
        assert_eq!(strayed(8), Outcome::Crash { signal: k::SIGSEGV, address: Some(8) });
        let here = (&raw const strayed).addr() as u64;
        assert_eq!(strayed(here), Outcome::Environment(Reason::NotCopied));
        let crash = Outcome::Crash { signal: k::SIGBUS, address: Some(8) };
        assert_eq!(judge(exit(0), Some((State::Crashed, [k::SIGBUS.into(), 8]))), crash);
    }

    #[test]
    fn what_limits_do_is_not_the_tests_failure() {
        let ready = Some((State::Ready, [0; 2]));
        assert_eq!(judge(k::SIGXCPU, ready, 0, 5), Outcome::Timeout);
        assert_eq!(judge(k::SIGKILL, ready, 5_100_000_000, 5), Outcome::Timeout);
        assert_eq!(judge(k::SIGKILL, ready, 4_000_000_000, 5), Outcome::Environment(Reason::Killed(k::SIGKILL)));
        assert_eq!(judge(k::SIGXFSZ, ready, 0, 5), Outcome::Environment(Reason::FileSize));
        assert_eq!(judge(k::SIGSYS, ready, 0, 5), Outcome::Environment(Reason::Call(UNKNOWN)));
    }
}
