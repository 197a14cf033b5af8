//! One program as our child, as if we were not there: its standard streams are ours, its signals reach it, its exit
//! code becomes ours.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};

/// Signals that are for the program. A terminal sends them to us and to the program; `kill` only to us.
const FOR_THE_PROGRAM: [libc::c_int; 6] =
    [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];

/// The program while it runs, for the signal handler. 0: not started; -1: it has ended.
static PROGRAM: AtomicI32 = AtomicI32::new(0);
/// A signal that came before the program was there.
static EARLY: AtomicI32 = AtomicI32::new(0);

/// Starts `command` and waits for it. Signals that somebody sends to us meanwhile go on to it.
pub fn run(command: &mut Command) -> io::Result<ExitStatus> {
    let before = FOR_THE_PROGRAM.map(pass_on);
    let result = command.spawn().and_then(|mut child| {
        let pid = child.id() as i32;
        PROGRAM.store(pid, Ordering::SeqCst);
        let early = EARLY.swap(0, Ordering::SeqCst);
        if early != 0 {
            // SAFETY: the child has not been waited for, so the pid is still its own.
            unsafe { libc::kill(pid, early) };
        }
        wait(&mut child)
    });
    PROGRAM.store(-1, Ordering::SeqCst);
    for (signal, action) in FOR_THE_PROGRAM.into_iter().zip(before) {
        if let Some(action) = action {
            // SAFETY: `action` is what sigaction gave us for this signal.
            unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
        }
    }
    result
}

/// Kills the program that [`run`] waits for.
pub fn kill() {
    let pid = PROGRAM.load(Ordering::SeqCst);
    if pid > 0 {
        // SAFETY: the pid is not reaped while PROGRAM holds it.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
}

/// The exit code a shell would give for this status.
pub fn exit_code(status: ExitStatus) -> u8 {
    status.code().or_else(|| status.signal().map(|s| 128 + s)).unwrap_or(255) as u8
}

/// How it ended, as the event log has it.
pub fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (_, Some(signal)) => format!("signal {signal}"),
        _ => "unknown".into(),
    }
}

/// Waits without reaping first, so that the handler never sends a signal to a pid that somebody else has got.
fn wait(child: &mut Child) -> io::Result<ExitStatus> {
    let pid = child.id();
    loop {
        // SAFETY: a zeroed siginfo is a valid place for waitid to write to.
        let mut info = unsafe { std::mem::zeroed::<libc::siginfo_t>() };
        // SAFETY: `info` is writable; WNOWAIT leaves the child to `Child::wait`.
        let done = unsafe { libc::waitid(libc::P_PID, pid, &mut info, libc::WEXITED | libc::WNOWAIT) };
        if done == 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    PROGRAM.store(-1, Ordering::SeqCst);
    child.wait()
}

/// Installs the handler for a signal, unless it is ignored (`nohup`): then the program inherits that. A handler, not
/// SIG_IGN: handlers are reset in the program, what is ignored stays ignored. Gives back what was there before.
fn pass_on(signal: libc::c_int) -> Option<libc::sigaction> {
    // SAFETY: a zeroed sigaction is valid (SIG_DFL, empty mask).
    let mut before = unsafe { std::mem::zeroed::<libc::sigaction>() };
    // SAFETY: as above.
    let mut action = unsafe { std::mem::zeroed::<libc::sigaction>() };
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    // SAFETY: both point to valid actions; the handler only uses atomics and kill.
    unsafe {
        if libc::sigaction(signal, std::ptr::null(), &mut before) != 0 || before.sa_sigaction == libc::SIG_IGN {
            return None;
        }
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
    Some(before)
}

extern "C" fn handler(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel gives a valid siginfo to SA_SIGINFO handlers.
    let from_a_process = unsafe { (*info).si_code } <= 0;
    let pid = PROGRAM.load(Ordering::SeqCst);
    if pid == 0 {
        EARLY.store(signal, Ordering::SeqCst);
    } else if pid > 0 && from_a_process {
        // SAFETY: kill is async-signal-safe, and the pid is not reaped while PROGRAM holds it. The terminal's
        // signals have reached the program already: it is in our process group.
        unsafe { libc::kill(pid, signal) };
    }
}
