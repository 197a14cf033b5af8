//! The test's signal handlers: for what the filter stopped, and for crashes.
//!
//! A system call that is refused ends the test with the reason. One that opens or changes a file by its path is made here, where it
//! can be seen what Landlock refuses: that ends the test too, while other errors are the test's to handle.

use super::account;
use super::calls::{self, Opening};
use super::descriptors::is_harmless;
use super::filter::Why;
use super::note::{self, State};
use super::outcome::Reason;
use super::signals::{self, DEFAULT, Mask};
use super::{kernel, landlock, outside};
use crate::arch;
use crate::registers::Registers;
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use linux_raw_sys::errno;
use linux_raw_sys::general::{self as k, stat};

/// The version of Landlock that the test is under; 0 is none.
static LANDLOCK: AtomicU32 = AtomicU32::new(0);
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// What the program does about faults.
static BEFORE: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];

/// What the handlers need to know.
pub fn prepare(landlock: u32, process: u32) {
    LANDLOCK.store(landlock, Relaxed);
    PROCESS.store(process, Relaxed);
}

/// Where we make system calls that the filter lets through.
pub fn gate() -> usize {
    // SAFETY: makes no system call.
    unsafe { arch::gate(0, ptr::null()) as usize }
}

/// # Safety
/// As [`arch::system_call`].
unsafe fn make(number: u32, a: [usize; 6]) -> isize {
    // SAFETY: the caller's promise.
    unsafe { arch::gate(number as usize, &raw const a) }
}

/// The handler for traps, and for crashes where the program has none. Faults of a test that lacks memory come to us first.
pub fn handle_signals(is_projected: bool) {
    signals::set_action(k::SIGSYS, &signals::handle(on_trap, 0));
    for signal in signals::FAULTS.into_iter().chain([k::SIGABRT, k::SIGQUIT, k::SIGXCPU, k::SIGXFSZ]) {
        if signals::action(signal)[0] == DEFAULT[0] {
            signals::set_action(signal, &signals::handle(on_crash, k::SA_ONSTACK | k::SA_NODEFER));
        }
    }
    if is_projected {
        BEFORE.iter().zip(signals::action(k::SIGSEGV)).for_each(|(word, value)| word.store(value, Relaxed));
        signals::set_action(k::SIGSEGV, &signals::handle(on_fault, k::SA_ONSTACK | k::SA_NODEFER));
    }
}

/// Words of `siginfo`: error, code, address or system call.
///
/// # Safety
/// `info` is what a handler was given.
unsafe fn read_info(info: *const u8) -> (u32, i32, u64, u32) {
    // SAFETY: the caller's promise; the structure has 128 bytes.
    unsafe {
        (
            info.add(4).cast::<u32>().read(),
            info.add(8).cast::<i32>().read(),
            info.add(16).cast::<u64>().read(),
            info.add(24).cast::<u32>().read(),
        )
    }
}

/// What `siginfo` says of a fault where no memory is.
const NOT_MAPPED: i32 = 1;

unsafe extern "C" fn on_crash(signal: u32, info: *const u8, context: *mut c_void) {
    // SAFETY: what the kernel gave us.
    let (_, code, address, _) = unsafe { read_info(info) };
    if kernel::is_out_of_memory() {
        note::tell_reason(Reason::Memory);
    }
    let has_address = code > 0 && matches!(signal, k::SIGSEGV | k::SIGBUS | k::SIGFPE | k::SIGILL | k::SIGTRAP);
    let is_unmapped = signal == k::SIGSEGV && code == NOT_MAPPED;
    let state = if is_unmapped { State::Strayed } else { State::Crashed };
    note::tell(state, signal.into(), if has_address { address } else { 0 });
    // SAFETY: as above.
    end_at(unsafe { arch::trapped_registers(context) })
}

/// A fault of a test that lacks memory. Where it lacks none, it is as if we were not there.
unsafe extern "C" fn on_fault(signal: u32, info: *const u8, context: *mut c_void) {
    // SAFETY: what the kernel gave us.
    let (_, code, address, _) = unsafe { read_info(info) };
    if code > 0 && outside::is_outside(address as usize) {
        note::tell_reason(Reason::Outside(address));
        // SAFETY: as above.
        end_at(unsafe { arch::trapped_registers(context) });
    }
    let [a, b, c, d] = &BEFORE;
    let before = [a, b, c, d].map(|word| word.load(Relaxed));
    let arguments = [signal as usize, before.as_ptr().addr(), 0, size_of::<Mask>(), 0, 0];
    // SAFETY: reads the structure. Then the test goes on, and the fault comes again.
    let _ = unsafe { make(k::__NR_rt_sigaction, arguments) };
    if code <= 0 {
        // Nothing is tried again: somebody has sent it.
        signal_self(k::__NR_tkill, [0, signal as usize, 0, 0, 0, 0]);
    }
}

/// Ends the test, of which is told what became of it, and says where it was.
fn end_at(place: Registers) -> ! {
    account::tell_stacks(Some(place));
    kernel::exit(0)
}

unsafe extern "C" fn on_trap(signal: u32, info: *const u8, context: *mut c_void) {
    const BY_FILTER: i32 = 1;
    // SAFETY: what the kernel gave us.
    let ((why, code, _, number), a) = unsafe { (read_info(info), arch::trapped_arguments(context)) };
    // SAFETY: as above.
    let place = || unsafe { arch::trapped_registers(context) };
    if code != BY_FILTER {
        note::tell(State::Crashed, signal.into(), 0);
        end_at(place());
    }
    let refuse = |reason: Reason| -> ! {
        note::tell_reason(reason);
        end_at(place())
    };
    let result = if why == Why::Descriptor as u32 {
        let descriptor = if number == k::__NR_mmap { a[4] } else { a[0] };
        refuse(Reason::Descriptor(descriptor as u32))
    } else if why == Why::Path as u32 {
        match by_path(number, a) {
            Ok(result) => result,
            Err(reason) => refuse(reason),
        }
    } else if why == Why::Signal as u32 {
        signal_self(number, a)
    } else if why == Why::Mask as u32 {
        // SAFETY: as above.
        unsafe { change_mask(context, a) }
    } else if why == Why::Fault as u32 {
        refuse(Reason::Outside(0))
    } else if why == Why::Memory as u32 {
        if outside::meets(a[0], a[1]) {
            refuse(Reason::Outside(a[0] as u64));
        }
        // SAFETY: the test's own call.
        unsafe { make(number, a) }
    } else {
        refuse(Reason::Call(number))
    };
    // SAFETY: as above.
    unsafe { arch::set_trapped_result(context, result) };
}

/// The signals by which we learn of things, and those that would kill if blocked.
const NEVER_BLOCKED: Mask = {
    let [a, b, c, d, e] = signals::FAULTS;
    signals::only(k::SIGSYS)
        | signals::only(a)
        | signals::only(b)
        | signals::only(c)
        | signals::only(d)
        | signals::only(e)
};

/// These signals are blocked from now on, but for those that never are.
pub fn set_mask(mask: Mask) {
    let mask = mask & !NEVER_BLOCKED;
    let a = [k::SIG_SETMASK as usize, (&raw const mask).addr(), 0, size_of::<Mask>(), 0, 0];
    // SAFETY: reads the mask.
    let _ = unsafe { make(k::__NR_rt_sigprocmask, a) };
}

/// Makes a change of what is blocked, which holds when the handler has returned.
///
/// # Safety
/// `context` is what a handler was given, `a` are the arguments of the call at which it was called.
unsafe fn change_mask(context: *mut c_void, a: [usize; 6]) -> isize {
    let [how, set, old, ..] = a;
    // SAFETY: the caller's promise; a word of the structure.
    let blocked = unsafe { &mut *context.byte_add(arch::TRAPPED_MASK).cast::<Mask>() };
    let before = *blocked;
    if set != 0 {
        // SAFETY: the test's own set.
        let set = unsafe { (set as *const Mask).read_unaligned() };
        let next = match how as u32 {
            k::SIG_BLOCK => before | set,
            k::SIG_UNBLOCK => before & !set,
            k::SIG_SETMASK => set,
            _ => return -(errno::EINVAL as isize),
        };
        *blocked = next & !NEVER_BLOCKED;
    }
    if old != 0 {
        // SAFETY: the test's own set.
        unsafe { (old as *mut Mask).write_unaligned(before) };
    }
    0
}

/// A signal to the thread of the program that the test is a copy of.
fn signal_self(number: u32, a: [usize; 6]) -> isize {
    let me = PROCESS.load(Relaxed) as usize;
    let a = match number {
        k::__NR_tkill => [me, a[1], 0, 0, 0, 0],
        _ => [me, me, a[2], a[3], 0, 0],
    };
    // SAFETY: the test's own call, with its own thread's id.
    unsafe { make(number, a) }
}

/// Makes a system call that names a file.
fn by_path(number: u32, a: [usize; 6]) -> Result<isize, Reason> {
    let version = LANDLOCK.load(Relaxed);
    let (writes, cuts) = match calls::opening(number, a) {
        None => (true, number == k::__NR_truncate),
        Some(opening) if opening.flags & k::O_PATH != 0 => (false, false),
        Some(opening) => {
            let (flags, target) = (opening.flags, look(&opening));
            let (creates, cuts) = (flags & k::O_CREAT != 0 && target == Target::Unknown, flags & k::O_TRUNC != 0);
            match target {
                Target::Other => return Err(Reason::Device(number)),
                Target::Harmless => (false, false),
                _ => (flags & k::O_ACCMODE != k::O_RDONLY || creates || cuts, cuts),
            }
        }
    };
    // Where nobody else would refuse it.
    if writes && (version == 0 || (cuts && version < landlock::TRUNCATES)) {
        return Err(Reason::Write(number));
    }
    // SAFETY: the test's own call.
    let result = unsafe { make(number, a) };
    let error = (-result) as u32;
    if writes && matches!(error, errno::EACCES | errno::EPERM | errno::EROFS | errno::EXDEV) {
        return Err(Reason::Write(number));
    }
    Ok(result)
}

/// What is to be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    /// A file or a directory.
    Plain,
    /// `/dev/null` and the like.
    Harmless,
    /// Nothing that could be found: for the kernel to say.
    Unknown,
    /// A device, a pipe, a terminal.
    Other,
}

/// Looks without opening it, which some devices and pipes notice.
fn look(opening: &Opening) -> Target {
    let flags = k::O_PATH | k::O_CLOEXEC | opening.flags & k::O_NOFOLLOW;
    // SAFETY: the test's own path; the kernel checks it.
    let found = unsafe { make(k::__NR_openat, [opening.directory, opening.path, flags as usize, 0, 0, 0]) };
    if found < 0 {
        return Target::Unknown;
    }
    // SAFETY: a structure of numbers.
    let mut status: stat = unsafe { core::mem::zeroed() };
    // SAFETY: writes the structure, then closes what was just opened.
    let read = unsafe {
        let read = make(k::__NR_fstat, [found as usize, (&raw mut status).addr(), 0, 0, 0, 0]);
        make(k::__NR_close, [found as usize, 0, 0, 0, 0, 0]);
        read
    };
    match status.st_mode & k::S_IFMT {
        _ if read < 0 => Target::Unknown,
        k::S_IFREG | k::S_IFDIR | k::S_IFLNK => Target::Plain,
        k::S_IFCHR if is_harmless(status.st_rdev) => Target::Harmless,
        _ => Target::Other,
    }
}
