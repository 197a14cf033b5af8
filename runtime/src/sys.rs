//! The system calls the runtime makes, with types. Never touches `errno`; nothing here is a cancellation point.
//!
//! Only calls that exist on every architecture Linux was ported to since 2012 (`openat`, not `open`).

use crate::arch::{gate, system_call};
use core::ffi::CStr;
use linux_raw_sys::{errno, general as k, prctl};

/// Why a system call failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Errno(pub u32);

impl Errno {
    pub const NO_ENTRY: Errno = Errno(errno::ENOENT);
    pub const EXISTS: Errno = Errno(errno::EEXIST);
    pub const NO_SPACE: Errno = Errno(errno::ENOSPC);
    pub const TOO_BIG: Errno = Errno(errno::EFBIG);
    pub const INVALID: Errno = Errno(errno::EINVAL);
    pub const FAULT: Errno = Errno(errno::EFAULT);
    pub const READ_ONLY: Errno = Errno(errno::EROFS);
    pub const NO_ACCESS: Errno = Errno(errno::EACCES);
    pub const NAME_TOO_LONG: Errno = Errno(errno::ENAMETOOLONG);
    pub const UNSUPPORTED: Errno = Errno(errno::EOPNOTSUPP);
    pub const NOT_EMPTY: Errno = Errno(errno::ENOTEMPTY);
    const INTERRUPTED: Errno = Errno(errno::EINTR);

    /// Whether the kernel or file system does not know the operation.
    pub fn is_unsupported(self) -> bool {
        matches!(self.0, errno::EOPNOTSUPP | errno::ENOSYS)
    }
}

/// What a system call gives.
pub type Result<T> = core::result::Result<T, Errno>;

/// Any other system call.
///
/// # Safety
/// As [`system_call`].
pub unsafe fn call(number: u32, a: [usize; 6]) -> Result<usize> {
    // SAFETY: the caller's promise.
    decode(unsafe { system_call(number, a) })
}

/// One that a test may make too, though the program's code may not: the sandbox's filter knows the place.
///
/// # Safety
/// As [`system_call`].
unsafe fn call_through_gate(number: u32, a: [usize; 6]) -> Result<usize> {
    // SAFETY: the caller's promise.
    decode(unsafe { gate(number as usize, &raw const a) })
}

fn decode(result: isize) -> Result<usize> {
    if (-4095..0).contains(&result) { Err(Errno(-result as u32)) } else { Ok(result as usize) }
}

/// Repeats what a signal interrupts; not for ever, since a fast timer can interrupt a slow call each time.
fn uninterrupted<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 0..64 {
        match attempt() {
            Err(Errno::INTERRUPTED) => {}
            result => return result,
        }
    }
    Err(Errno::INTERRUPTED)
}

const HERE: usize = k::AT_FDCWD as usize;

/// An open file. Closed when dropped.
pub struct File(usize);

/// How to open a file.
#[derive(Clone, Copy)]
pub enum Open {
    /// To read it.
    Read,
    /// To read and write it; it must not exist yet.
    CreateNew,
    /// To read and write it; it must exist.
    ReadWrite,
    /// To read it and append to it; it must exist.
    ReadAppend,
    /// To append to it; it is made if it does not exist.
    Append,
}

impl File {
    /// Opens a file. Never follows a link that we would write through, never becomes a controlling terminal, never waits
    /// for the other end of a pipe.
    pub fn open(path: &CStr, how: Open) -> Result<File> {
        let flags = match how {
            Open::Read => k::O_RDONLY | k::O_NONBLOCK,
            Open::CreateNew => k::O_RDWR | k::O_CREAT | k::O_EXCL | k::O_NOFOLLOW,
            Open::ReadWrite => k::O_RDWR | k::O_NOFOLLOW | k::O_NONBLOCK,
            Open::ReadAppend => k::O_RDWR | k::O_APPEND | k::O_NOFOLLOW | k::O_NONBLOCK,
            Open::Append => k::O_WRONLY | k::O_CREAT | k::O_APPEND | k::O_NOFOLLOW | k::O_NONBLOCK,
        } | k::O_CLOEXEC
            | k::O_NOCTTY;
        let arguments = [HERE, path.as_ptr().addr(), flags as usize, 0o666, 0, 0];
        // SAFETY: reads the path.
        uninterrupted(|| unsafe { call(k::__NR_openat, arguments) }).map(File)
    }

    /// Reads at the file's position.
    pub fn read(&self, to: &mut [u8]) -> Result<usize> {
        let arguments = [self.0, to.as_mut_ptr().addr(), to.len(), 0, 0, 0];
        // SAFETY: writes into the slice.
        uninterrupted(|| unsafe { call(k::__NR_read, arguments) }).map(|n| n.min(to.len()))
    }

    /// Reads all of the slice from a place in the file into memory that may be shared.
    ///
    /// # Safety
    /// The memory must be valid.
    pub unsafe fn read_exact_at(&self, to: *mut u8, length: usize, offset: usize) -> Result<()> {
        let arguments = [self.0, to.addr(), length, offset, 0, 0];
        // SAFETY: the caller's promise.
        let n = uninterrupted(|| unsafe { call(k::__NR_pread64, arguments) })?;
        if n == length { Ok(()) } else { Err(Errno::INVALID) }
    }

    /// Appends with one call; a part that was not written is an error.
    pub fn append(&self, bytes: &[u8]) -> Result<()> {
        let arguments = [self.0, bytes.as_ptr().addr(), bytes.len(), 0, 0, 0];
        // SAFETY: reads the slice.
        let n = uninterrupted(|| unsafe { call(k::__NR_write, arguments) })?;
        if n == bytes.len() { Ok(()) } else { Err(Errno::NO_SPACE) }
    }

    /// Writes all bytes at a place in the file.
    pub fn write_at(&self, bytes: &[u8], offset: usize) -> Result<()> {
        // SAFETY: a slice is valid.
        unsafe { self.write_memory_at(bytes.as_ptr(), bytes.len(), offset) }
    }

    /// The same for memory that others may change meanwhile.
    ///
    /// # Safety
    /// The memory must be valid.
    pub unsafe fn write_memory_at(&self, bytes: *const u8, length: usize, offset: usize) -> Result<()> {
        let arguments = [self.0, bytes.addr(), length, offset, 0, 0];
        // SAFETY: the caller's promise.
        let n = uninterrupted(|| unsafe { call(k::__NR_pwrite64, arguments) })?;
        if n == length { Ok(()) } else { Err(Errno::NO_SPACE) }
    }

    /// Makes the file this long, with blocks behind all of it.
    pub fn allocate(&self, length: u64) -> Result<()> {
        let arguments = [self.0, 0, 0, length as usize, 0, 0];
        // SAFETY: touches no memory.
        uninterrupted(|| unsafe { call(k::__NR_fallocate, arguments) }).map(drop)
    }

    /// Reserves blocks from there on, also behind the file's end, which stays where it is.
    pub fn reserve(&self, offset: u64, length: u64) -> Result<()> {
        let arguments = [self.0, k::FALLOC_FL_KEEP_SIZE as usize, offset as usize, length as usize, 0, 0];
        // SAFETY: touches no memory.
        uninterrupted(|| unsafe { call(k::__NR_fallocate, arguments) }).map(drop)
    }

    /// The file's length.
    pub fn length(&self) -> Result<u64> {
        // SAFETY: touches no memory.
        unsafe { call(k::__NR_lseek, [self.0, 0, k::SEEK_END as usize, 0, 0, 0]) }.map(|n| n as u64)
    }

    /// The next read is from its beginning.
    pub fn rewind(&self) -> Result<()> {
        // SAFETY: touches no memory.
        unsafe { call(k::__NR_lseek, [self.0, 0, k::SEEK_SET as usize, 0, 0, 0]) }.map(drop)
    }

    /// Maps the file, shared, over memory that is already there.
    ///
    /// # Safety
    /// The range must be whole pages that hold nothing but what may be replaced.
    pub unsafe fn map_over(&self, at: *mut u8, length: usize, offset: usize) -> Result<()> {
        let protection = (k::PROT_READ | k::PROT_WRITE) as usize;
        let arguments = [at.addr(), length, protection, (k::MAP_SHARED | k::MAP_FIXED) as usize, self.0, offset];
        // SAFETY: the caller's promise.
        unsafe { call(k::__NR_mmap, arguments) }.map(drop)
    }
}

impl File {
    /// The descriptor with that number becomes ours.
    pub fn from_number(number: usize) -> File {
        File(number)
    }

    /// Its descriptor.
    pub fn number(&self) -> usize {
        self.0
    }

    /// Maps the file, shared, also where it does not reach yet: from what lies behind its end, nothing may be read until it does.
    pub fn map(&self, length: usize) -> Result<*mut u8> {
        let arguments = [0, length, (k::PROT_READ | k::PROT_WRITE) as usize, k::MAP_SHARED as usize, self.0, 0];
        // SAFETY: the kernel chooses a free place.
        unsafe { call(k::__NR_mmap, arguments) }.map(|at| at as *mut u8)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: our own descriptor. Linux frees it whatever the result, so it is never closed twice.
        let _ = unsafe { call(k::__NR_close, [self.0, 0, 0, 0, 0, 0]) };
    }
}

/// New private memory, all zero.
pub fn map_memory(length: usize) -> Result<*mut u8> {
    let flags = (k::MAP_PRIVATE | k::MAP_ANONYMOUS | k::MAP_NORESERVE) as usize;
    let arguments = [0, length, (k::PROT_READ | k::PROT_WRITE) as usize, flags, usize::MAX, 0];
    // SAFETY: the kernel chooses a free place.
    unsafe { call(k::__NR_mmap, arguments) }.map(|at| at as *mut u8)
}

/// New memory, all zero, that children share.
pub fn map_shared_memory(length: usize) -> Result<*mut u8> {
    let flags = (k::MAP_SHARED | k::MAP_ANONYMOUS | k::MAP_NORESERVE) as usize;
    let arguments = [0, length, (k::PROT_READ | k::PROT_WRITE) as usize, flags, usize::MAX, 0];
    // SAFETY: the kernel chooses a free place.
    unsafe { call(k::__NR_mmap, arguments) }.map(|at| at as *mut u8)
}

/// Private zero memory in place of what is there.
///
/// # Safety
/// As [`File::map_over`].
pub unsafe fn map_memory_over(at: *mut u8, length: usize) -> Result<()> {
    let flags = (k::MAP_PRIVATE | k::MAP_ANONYMOUS | k::MAP_FIXED) as usize;
    let arguments = [at.addr(), length, (k::PROT_READ | k::PROT_WRITE) as usize, flags, usize::MAX, 0];
    // SAFETY: the caller's promise.
    unsafe { call(k::__NR_mmap, arguments) }.map(drop)
}

/// Gives memory back.
///
/// # Safety
/// It must come from [`map_memory`], [`map_shared_memory`] or [`File::map`], and be unused from now on.
pub unsafe fn unmap_memory(at: *mut u8, length: usize) {
    // SAFETY: the caller's promise.
    let _ = unsafe { call(k::__NR_munmap, [at.addr(), length, 0, 0, 0, 0]) };
}

/// Copies up to `length` bytes of a process's memory into `to`; returns how many. Memory that is not there ends it.
pub fn read_memory(process: u32, address: usize, to: &mut [u64], length: usize) -> usize {
    try_read_memory(process, address, to, length).unwrap_or(0)
}

/// The same; the error [`Errno::FAULT`] means that nothing is there, any other that nobody knows.
pub fn try_read_memory(process: u32, address: usize, to: &mut [u64], length: usize) -> Result<usize> {
    let length = length.min(size_of_val(to));
    let (here, there) = ([to.as_mut_ptr().addr(), length], [address, length]);
    let arguments = [process as usize, here.as_ptr().addr(), 1, there.as_ptr().addr(), 1, 0];
    // SAFETY: reads two iovecs, which are two words each, and writes into the slice.
    unsafe { call_through_gate(k::__NR_process_vm_readv, arguments) }.map(|n| n.min(length))
}

/// Whether this process can certainly read the word around that address.
pub fn is_readable(address: usize) -> bool {
    const SIZE: usize = size_of::<u64>();
    // The kernel reads a set of signals first, and then finds that this can't be done with it.
    const NOTHING: usize = 99;
    // SAFETY: the kernel looks whether it can be read. No address means no question.
    let result = unsafe { call(k::__NR_rt_sigprocmask, [NOTHING, address & !(SIZE - 1), 0, SIZE, 0, 0]) };
    address >= SIZE && result == Err(Errno::INVALID)
}

/// Opens a file to read it, also in a test, whatever signals are blocked there.
pub fn open_anyhow(path: &CStr) -> Result<File> {
    let flags = k::O_RDONLY | k::O_CLOEXEC | k::O_NOCTTY;
    // SAFETY: reads the path.
    unsafe { call_through_gate(k::__NR_openat, [HERE, path.as_ptr().addr(), flags as usize, 0, 0, 0]) }.map(File)
}

/// Makes a directory.
pub fn make_directory(path: &CStr) -> Result<()> {
    // SAFETY: reads the path.
    unsafe { call(k::__NR_mkdirat, [HERE, path.as_ptr().addr(), 0o777, 0, 0, 0]) }.map(drop)
}

/// Removes a file.
pub fn remove(path: &CStr) {
    // SAFETY: reads the path.
    let _ = unsafe { call(k::__NR_unlinkat, [HERE, path.as_ptr().addr(), 0, 0, 0, 0]) };
}

/// Removes a directory, if nothing is in it.
pub fn remove_directory(path: &CStr) {
    // SAFETY: reads the path.
    let _ = unsafe { call(k::__NR_unlinkat, [HERE, path.as_ptr().addr(), k::AT_REMOVEDIR as usize, 0, 0, 0]) };
}

/// The names in a directory but its own and its parent's.
pub fn for_each_entry(directory: &File, mut f: impl FnMut(&CStr)) -> Result<()> {
    let mut room = [0_u64; 256];
    loop {
        let arguments = [directory.number(), room.as_mut_ptr().addr(), size_of_val(&room), 0, 0, 0];
        // SAFETY: writes into the room.
        let n = unsafe { call(k::__NR_getdents64, arguments) }?;
        if n == 0 {
            return Ok(());
        }
        // SAFETY: as many bytes as there are.
        let bytes = unsafe { core::slice::from_raw_parts(room.as_ptr().cast::<u8>(), n.min(size_of_val(&room))) };
        let mut rest = bytes;
        // Inode and offset, eight bytes each, length, type, name.
        while let Some([low, high, _]) = rest.get(16..19) {
            let length = usize::from(u16::from_ne_bytes([*low, *high]));
            let name = rest.get(19..length).and_then(|name| CStr::from_bytes_until_nul(name).ok());
            if let Some(name) = name.filter(|name| !matches!(name.to_bytes(), b"." | b"..")) {
                f(name);
            }
            rest = rest.get(length.max(1)..).unwrap_or_default();
        }
    }
}

/// Gives a file a second name, unless something has it already.
pub fn link(from: &CStr, to: &CStr) -> Result<()> {
    // SAFETY: reads the paths.
    unsafe { call(k::__NR_linkat, [HERE, from.as_ptr().addr(), HERE, to.as_ptr().addr(), 0, 0]) }.map(drop)
}

/// Where a symbolic link points.
pub fn read_link<'a>(path: &CStr, to: &'a mut [u8]) -> Result<&'a [u8]> {
    let arguments = [HERE, path.as_ptr().addr(), to.as_mut_ptr().addr(), to.len(), 0, 0];
    // SAFETY: reads the path, writes into the slice.
    let n = unsafe { call(k::__NR_readlinkat, arguments) }?;
    // A full buffer may hold a cut name.
    if n < to.len() { to.get(..n).ok_or(Errno::INVALID) } else { Err(Errno::NAME_TOO_LONG) }
}

/// The working directory.
pub fn working_directory(to: &mut [u8]) -> Result<&[u8]> {
    // SAFETY: writes into the slice.
    let n = unsafe { call(k::__NR_getcwd, [to.as_mut_ptr().addr(), to.len(), 0, 0, 0, 0]) }?;
    to.get(..n.saturating_sub(1)).ok_or(Errno::INVALID)
}

/// This process.
pub fn process_id() -> u32 {
    // SAFETY: touches no memory.
    unsafe { call(k::__NR_getpid, [0; 6]) }.unwrap_or(0) as u32
}

/// Its parent.
pub fn parent_id() -> u32 {
    // SAFETY: touches no memory.
    unsafe { call(k::__NR_getppid, [0; 6]) }.unwrap_or(0) as u32
}

/// Whether the process has another effective user or group than the one who started it.
pub fn has_other_ids() -> bool {
    // SAFETY: touches no memory.
    let id = |number| unsafe { call(number, [0; 6]) };
    id(k::__NR_getuid) != id(k::__NR_geteuid) || id(k::__NR_getgid) != id(k::__NR_getegid)
}

/// Waits.
pub fn sleep(nanoseconds: i64) {
    let time = [0, nanoseconds];
    // SAFETY: reads a timespec, which is two words.
    let _ = unsafe { call(k::__NR_nanosleep, [time.as_ptr().addr(), 0, 0, 0, 0, 0]) };
}

/// Nanoseconds since 1970.
pub fn time() -> u64 {
    let mut now = [0_i64; 2];
    // SAFETY: writes a timespec, which is two words.
    let _ = unsafe { call(k::__NR_clock_gettime, [k::CLOCK_REALTIME as usize, now.as_mut_ptr().addr(), 0, 0, 0, 0]) };
    (now[0] as u64).wrapping_mul(1_000_000_000).wrapping_add(now[1] as u64)
}

/// A time that only goes forward, in ns.
pub fn monotonic_time() -> u64 {
    clock(k::CLOCK_MONOTONIC)
}

/// CPU time of this process, in ns.
pub fn cpu_time() -> u64 {
    clock(k::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of this thread, in ns.
pub fn thread_time() -> u64 {
    clock(k::CLOCK_THREAD_CPUTIME_ID)
}

fn clock(which: u32) -> u64 {
    let mut now = [0_i64; 2];
    // SAFETY: writes a timespec, which is two words.
    let _ = unsafe { call(k::__NR_clock_gettime, [which as usize, now.as_mut_ptr().addr(), 0, 0, 0, 0]) };
    (now[0] as u64).wrapping_mul(1_000_000_000).wrapping_add(now[1] as u64)
}

/// The largest file this process may write without being sent `SIGXFSZ`.
pub fn file_size_limit() -> u64 {
    let mut limit = [u64::MAX; 2];
    let arguments = [0, k::RLIMIT_FSIZE as usize, 0, limit.as_mut_ptr().addr(), 0, 0];
    // SAFETY: writes an rlimit64, which is two words.
    let _ = unsafe { call(k::__NR_prlimit64, arguments) };
    limit[0]
}

/// `prctl(PR_GET_SECCOMP)`: 0 without a filter, 2 with one.
pub fn seccomp_mode() -> Result<usize> {
    // SAFETY: touches no memory.
    unsafe { call(k::__NR_prctl, [prctl::PR_GET_SECCOMP as usize, 0, 0, 0, 0, 0]) }
}

/// `prctl(PR_GET_NO_NEW_PRIVS)`.
pub fn no_new_privileges() -> Result<usize> {
    // SAFETY: touches no memory.
    unsafe { call(k::__NR_prctl, [prctl::PR_GET_NO_NEW_PRIVS as usize, 0, 0, 0, 0, 0]) }
}
