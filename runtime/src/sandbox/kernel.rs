//! System calls that only the sandbox makes, with types.

use crate::sys::{self, Errno, File, Result, call};
use core::ffi::CStr;
use linux_raw_sys::general::{self as k, stat};
use linux_raw_sys::prctl;

const HERE: usize = k::AT_FDCWD as usize;

/// Ends this process, all of it, at once.
pub fn exit(code: usize) -> ! {
    loop {
        // SAFETY: does not return.
        let _ = unsafe { call(k::__NR_exit_group, [code, 0, 0, 0, 0, 0]) };
    }
}

/// A system call that takes numbers only.
pub fn plain(number: u32, a: [usize; 5]) -> Result<usize> {
    let [a, b, c, d, e] = a;
    // SAFETY: the callers here pass numbers, or null where a pointer is allowed.
    unsafe { call(number, [a, b, c, d, e, 0]) }
}

pub fn thread_id() -> u32 {
    plain(k::__NR_gettid, [0; 5]).unwrap_or(0) as u32
}

/// `prctl` with numbers.
pub fn control(option: u32, value: usize) -> Result<usize> {
    plain(k::__NR_prctl, [option as usize, value, 0, 0, 0])
}

/// Names this thread.
pub fn set_name(name: &CStr) {
    let _ = control(prctl::PR_SET_NAME, name.as_ptr().addr());
}

/// A copy of this process, whose end is told by `SIGCHLD`: 0 in the copy.
///
/// # Safety
/// The copy has this thread only.
pub unsafe fn fork() -> Result<usize> {
    // SAFETY: the caller's promise; no memory is shared, and the stack stays the same.
    unsafe { call(k::__NR_clone, [k::SIGCHLD as usize, 0, 0, 0, 0, 0]) }
}

/// Sends a signal.
pub fn kill(process: isize, signal: u32) {
    let _ = plain(k::__NR_kill, [process as usize, signal as usize, 0, 0, 0]);
}

/// How a child ended.
#[derive(Clone, Copy)]
pub struct Ended {
    pub status: u32,
    pub cpu_ns: u64,
}

/// Waits for a child, or for any (-1). `None` if none has ended yet and `options` say not to wait.
pub fn wait(process: isize, options: u32) -> Result<Option<Ended>> {
    let mut status = 0_u32;
    let mut usage = [0_u64; size_of::<k::rusage>().div_ceil(8)];
    let arguments = [process as usize, (&raw mut status).addr(), options as usize, usage.as_mut_ptr().addr(), 0, 0];
    // SAFETY: writes the status, and the usage, which is as large as the kernel's structure.
    let result = unsafe { call(k::__NR_wait4, arguments) }?;
    let [seconds, micros, system_seconds, system_micros, ..] = usage;
    let micros = micros.wrapping_add(system_micros);
    let cpu_ns =
        seconds.wrapping_add(system_seconds).wrapping_mul(1_000_000_000).wrapping_add(micros.wrapping_mul(1000));
    Ok((result != 0).then_some(Ended { status, cpu_ns }))
}

/// Whether a child has ended; it can still be waited for.
pub fn has_ended(process: u32) -> bool {
    let mut info = [0_u64; 16];
    let options = k::WEXITED | k::WNOHANG | k::WNOWAIT;
    let arguments = [k::P_PID as usize, process as usize, info.as_mut_ptr().addr(), options as usize, 0, 0];
    // SAFETY: writes a siginfo, which has 128 bytes.
    let result = unsafe { call(k::__NR_waitid, arguments) };
    result.is_err() || info.iter().any(|word| *word != 0)
}

/// Sets a limit, not above what is allowed.
pub fn set_limit(resource: u32, soft: u64, hard: u64) -> Result<()> {
    let mut now = [u64::MAX; 2];
    let arguments = [0, resource as usize, 0, now.as_mut_ptr().addr(), 0, 0];
    // SAFETY: writes an rlimit64, which is two words.
    unsafe { call(k::__NR_prlimit64, arguments) }?;
    let limit = [soft.min(now[1]), hard.min(now[1])];
    let arguments = [0, resource as usize, limit.as_ptr().addr(), 0, 0, 0];
    // SAFETY: reads the same.
    unsafe { call(k::__NR_prlimit64, arguments) }.map(drop)
}

/// Whether another megabyte is too much.
pub fn is_out_of_memory() -> bool {
    const PROBE: usize = 1 << 20;
    match sys::map_memory(PROBE) {
        Ok(at) => {
            // SAFETY: just mapped.
            unsafe { sys::unmap_memory(at, PROBE) };
            false
        }
        Err(_) => true,
    }
}

/// Opens a file with any flags.
pub fn open(path: &CStr, flags: u32) -> Result<File> {
    let flags = flags | k::O_CLOEXEC | k::O_NOCTTY;
    let arguments = [HERE, path.as_ptr().addr(), flags as usize, 0o600, 0, 0];
    // SAFETY: reads the path.
    unsafe { call(k::__NR_openat, arguments) }.map(File::from_number)
}

/// A file in memory.
pub fn memory_file() -> Result<File> {
    let name = super::NAME;
    // SAFETY: reads the name.
    unsafe { call(k::__NR_memfd_create, [name.as_ptr().addr(), k::MFD_CLOEXEC as usize, 0, 0, 0, 0]) }
        .map(File::from_number)
}

/// What a descriptor leads to.
pub fn status(descriptor: usize) -> Result<stat> {
    // SAFETY: a structure of numbers.
    let mut status: stat = unsafe { core::mem::zeroed() };
    // SAFETY: writes the structure.
    unsafe { call(k::__NR_fstat, [descriptor, (&raw mut status).addr(), 0, 0, 0, 0]) }?;
    Ok(status)
}

/// Closes descriptors, both ends included.
pub fn close_range(first: usize, last: usize) {
    if first > last || plain(k::__NR_close_range, [first, last, 0, 0, 0]).is_ok() {
        return;
    }
    // Kernels before 5.9.
    let mut limit = [1024_u64; 2];
    // SAFETY: writes an rlimit64, which is two words.
    let _ = unsafe { call(k::__NR_prlimit64, [0, k::RLIMIT_NOFILE as usize, 0, limit.as_mut_ptr().addr(), 0, 0]) };
    for descriptor in first..=last.min(limit[0].min(1 << 16) as usize) {
        let _ = plain(k::__NR_close, [descriptor, 0, 0, 0, 0]);
    }
}

/// Wakes who waits for the word.
pub fn wake(word: *const u32) {
    // SAFETY: looks at no memory but the word's address.
    let _ = unsafe { call(k::__NR_futex, [word.addr(), k::FUTEX_WAKE as usize, 1, 0, 0, 0]) };
}

/// So many threads this process has, by the number of links of their directory; none if that can't be told.
pub fn threads() -> Option<usize> {
    // The directory's own two links.
    const OWN: usize = 2;
    let directory = open(c"/proc/self/task", k::O_PATH | k::O_DIRECTORY).ok()?;
    (status(directory.number()).ok()?.st_nlink as usize).checked_sub(OWN)
}

/// So much memory this process has ever had at once, in bytes.
pub fn most_memory() -> usize {
    let mut usage = [0_usize; size_of::<k::rusage>().div_ceil(8)];
    // SAFETY: writes the usage, which is as large as the kernel's structure.
    let _ = unsafe { call(k::__NR_getrusage, [0, usage.as_mut_ptr().addr(), 0, 0, 0, 0]) };
    // Behind the times, in KiB.
    let [_, _, _, _, most, ..] = usage;
    most.saturating_mul(1024)
}

/// Where the heap ends that `brk` makes.
pub fn heap_end() -> usize {
    plain(k::__NR_brk, [0; 5]).unwrap_or(0)
}

/// Says to the kernel how memory is used.
///
/// # Safety
/// The advice must be one that keeps what is there.
pub unsafe fn advise(start: usize, length: usize, advice: u32) -> Result<()> {
    plain(k::__NR_madvise, [start, length, advice as usize, 0, 0]).map(drop)
}

/// Reads a small file.
pub fn read_file<'a>(path: &CStr, to: &'a mut [u8]) -> Result<&'a [u8]> {
    let n = File::open(path, sys::Open::Read)?.read(to)?;
    to.get(..n).ok_or(Errno::INVALID)
}
