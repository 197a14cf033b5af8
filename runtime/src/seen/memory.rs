//! Where the lines are: a mapped file that grows, or memory that children share. In: a path. Out: lines.
//!
//! A file is made under another name and linked to its own when it is whole: nobody ever opens half of one. It is mapped far beyond its
//! end, so that nobody has to map it again when it grows. Blocks are reserved before lines are used: a full disk can't turn a
//! store into `SIGBUS`. No file descriptor stays open. To grow, the file is opened again by its name; if that fails, or is another file
//! now, or has no room, the set stays as large as it is, and forgets. Whoever tidies up may remove these files, but must
//! never shorten them.

use super::Refused;
use super::line::Line;
use crate::sys::{self, Errno, File, Open};
use crate::text::Text;
use core::ffi::CStr;
use core::marker::PhantomData;
use core::mem::offset_of;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicU64};
use unseen_abi::seen::{
    self, BATCH, COUNTS, Content, FIRST_LINES, LINE, LINES_OFFSET, MAGIC, MOST_LINES, VERSION, file_size,
};

/// Longest path, with its NUL, and what is put behind it.
const PATH: usize = linux_raw_sys::general::PATH_MAX as usize + 64;
/// The most lines for which room is made at once: 64 KiB, which takes a small part of a millisecond.
const ROOM: u64 = 1024;
/// The smallest [`Header::size`].
pub const LEAST: u64 = FIRST_LINES << 1;
/// How many zeros are written at once.
const ZEROS: usize = 64 * 1024;
/// How often another process may be faster in making the file, and it be gone again.
const ATTEMPTS: usize = 8;

/// A count, as it is in memory.
#[repr(C, align(64))]
pub struct Count {
    pub states: AtomicU64,
    reserved: [u64; 7],
}

/// The header, as it is in memory.
#[repr(C, align(64))]
pub struct Header {
    fixed: [u64; 8],
    pub size: AtomicU64,
    pub room: AtomicU64,
    pub since: AtomicU64,
    pub spilled: AtomicU64,
    reserved: [u64; 4],
    rest: [u64; (LINES_OFFSET - 128 - COUNTS * LINE) / 8],
    pub counts: [Count; COUNTS],
}

const _: () = assert!(size_of::<Header>() == LINES_OFFSET);
const _: () = assert!(offset_of!(Header, size) == offset_of!(seen::Header, size));
const _: () = assert!(offset_of!(Header, room) == offset_of!(seen::Header, room));
const _: () = assert!(offset_of!(Header, since) == offset_of!(seen::Header, since));
const _: () = assert!(offset_of!(Header, spilled) == offset_of!(seen::Header, spilled));
const _: () = assert!(offset_of!(Header, counts) == offset_of!(seen::Header, counts));

/// What tells a file: its first bytes up to the nonce.
type Name = [u8; 40];
const _: () = assert!(offset_of!(seen::Header, reserved) == size_of::<Name>());
const _: () = assert!(offset_of!(seen::Header, nonce) + 8 == size_of::<Name>());

/// The lines, and what is known of all of them.
pub struct Memory<F: Content> {
    at: *mut u8,
    lines: *const Line,
    length: usize,
    /// The largest [`Header::size`] that can be used here.
    pub largest: u64,
    /// How much larger that is than the least.
    pub range: u64,
    /// The path; null if there is no file.
    path: *mut u8,
    name: Name,
    /// Whether the last try to make room failed.
    stuck: AtomicBool,
    format: PhantomData<F>,
}

// SAFETY: atomics in memory that is there as long as this is; the path is only read.
unsafe impl<F: Content> Send for Memory<F> {}
// SAFETY: as above.
unsafe impl<F: Content> Sync for Memory<F> {}

impl<F: Content> Memory<F> {
    #[inline(always)]
    pub fn header(&self) -> &Header {
        // SAFETY: mapped, aligned to pages; only atomics are changed by others.
        unsafe { &*self.at.cast::<Header>() }
    }

    /// A line, by a number below the largest size.
    #[inline(always)]
    pub fn line(&self, number: u64) -> &Line {
        debug_assert!(number < self.largest >> 1);
        // SAFETY: mapped; the number is of a line below the size, and the file reaches as far.
        unsafe { &*self.lines.add(number as usize) }
    }

    /// What tells the file from all others; 0 if there is none.
    pub fn nonce(&self) -> u64 {
        self.name.last_chunk().map_or(0, |nonce| u64::from_le_bytes(*nonce))
    }

    /// Where it lies, and how long it is.
    pub fn span(&self) -> (usize, usize) {
        (self.at.addr(), self.length)
    }

    /// Whether there was no room for more lines.
    pub fn is_stuck(&self) -> bool {
        self.stuck.load(Relaxed)
    }

    /// Memory that this process and its children have, without a file; at most so many lines.
    pub fn anonymous(most: u64) -> Result<Memory<F>, Refused> {
        let mapped = most.clamp(FIRST_LINES, MOST_LINES) / BATCH * BATCH;
        let length = file_size(mapped) as usize;
        let at = sys::map_shared_memory(length).map_err(Refused::System)?;
        let memory = Memory::new(at, length, core::ptr::null_mut(), [0; 40]);
        memory.header().size.store(FIRST_LINES << 1, SeqCst);
        memory.header().room.store(mapped, SeqCst);
        Ok(memory)
    }

    fn new(at: *mut u8, length: usize, path: *mut u8, name: Name) -> Memory<F> {
        let mapped = (length - LINES_OFFSET) as u64 / LINE as u64;
        let mapped = mapped.min(MOST_LINES) / BATCH * BATCH;
        // SAFETY: the header is mapped, and at least as many lines as a new file has.
        let lines = unsafe { at.add(LINES_OFFSET) }.cast::<Line>();
        let (largest, stuck) = (mapped << 1 | 1, AtomicBool::new(false));
        // Never less: as many lines as a new file has are always mapped.
        let range = largest.saturating_sub(LEAST);
        Memory { at, lines, length, largest, range, path, name, stuck, format: PhantomData }
    }

    /// Opens a file, or makes it.
    pub fn open(path: &CStr, suffix: &str, id: &[u8; 16], most: u64) -> Result<Memory<F>, Refused> {
        let room = sys::map_memory(2 * PATH).map_err(Refused::System)?;
        let result = open_in::<F>(room, path, suffix, id, most);
        if result.is_err() {
            // SAFETY: nobody keeps it.
            unsafe { sys::unmap_memory(room, 2 * PATH) };
        }
        result
    }

    /// Tries to make room for so many lines and some more, but not for more than `most`.
    pub fn make_room(&self, lines: u64, most: u64) {
        let more = (lines + (lines / 256).clamp(BATCH, ROOM)).min(most).max(lines);
        let result = self.extend(file_size(more));
        if result.is_ok() {
            self.header().room.fetch_max(more, SeqCst);
        }
        self.stuck.store(result.is_err(), Relaxed);
    }

    fn extend(&self, size: u64) -> sys::Result<()> {
        if self.path.is_null() || size > sys::file_size_limit() {
            // Without the limit, growing it would send the program a signal that kills it.
            return Err(Errno::TOO_BIG);
        }
        // SAFETY: ends with a NUL, and is never changed.
        let file = File::open(unsafe { CStr::from_ptr(self.path.cast()) }, Open::ReadAppend)?;
        let mut name: Name = [0; 40];
        // SAFETY: our own array.
        unsafe { file.read_exact_at(name.as_mut_ptr(), name.len(), 0) }?;
        if name != self.name {
            return Err(Errno::NO_ENTRY);
        }
        lengthen(&file, size)
    }
}

impl<F: Content> Drop for Memory<F> {
    fn drop(&mut self) {
        // SAFETY: mapped by us, and used by nobody any more.
        unsafe {
            sys::unmap_memory(self.at, self.length);
            if !self.path.is_null() {
                sys::unmap_memory(self.path, 2 * PATH);
            }
        }
    }
}

/// Reserves blocks up to that size, and puts zeros there: pages that are made for one large write lie together, which those that are
/// made one by one do not, and a read of a random one takes a fifth less time. The file is open for appending, and its end
/// stays where it is until there are zeros, so that they come behind it, wherever that is by then, and never over what others wrote.
fn lengthen(file: &File, size: u64) -> sys::Result<()> {
    let length = file.length()?;
    if length >= size {
        return Ok(());
    }
    match file.reserve(length, size - length) {
        Err(why) if why.is_unsupported() => {}
        Err(why) => return Err(why),
        Ok(()) => {}
    }
    let zeros = sys::map_memory(ZEROS)?;
    let mut left = size - length;
    let mut result = Ok(());
    while left > 0 && result.is_ok() {
        let n = left.min(ZEROS as u64);
        // SAFETY: mapped above.
        result = file.append(unsafe { core::slice::from_raw_parts(zeros, n as usize) });
        left -= n;
    }
    // SAFETY: ours.
    unsafe { sys::unmap_memory(zeros, ZEROS) };
    result
}

/// `room` has place for two paths; the memory keeps it.
fn open_in<F: Content>(
    room: *mut u8,
    path: &CStr,
    suffix: &str,
    id: &[u8; 16],
    most: u64,
) -> Result<Memory<F>, Refused> {
    // SAFETY: two halves of fresh memory.
    let (own, other) = unsafe {
        let half = |n| core::slice::from_raw_parts_mut(room.add(n * PATH), PATH);
        (half(0), half(1))
    };
    let whole = Text::new(own).bytes(path.to_bytes()).bytes(suffix.as_bytes()).path();
    let path = whole.ok_or(Refused::System(Errno::NAME_TOO_LONG))?;
    for _ in 0..ATTEMPTS {
        match File::open(path, Open::ReadWrite) {
            Ok(file) => return adopt(&file, room, id, most),
            Err(Errno::NO_ENTRY) => create::<F>(path, other, id).map_err(Refused::from)?,
            Err(why) => return Err(why.into()),
        }
    }
    Err(Refused::System(Errno::NO_ENTRY))
}

/// Makes a file, if there is none yet.
fn create<F: Content>(path: &CStr, buffer: &mut [u8], id: &[u8; 16]) -> sys::Result<()> {
    let (pid, time) = (u64::from(sys::process_id()), sys::time());
    let text = Text::new(buffer).bytes(path.to_bytes()).bytes(b".").decimal(pid).bytes(b"-").hex(time);
    let new = text.path().ok_or(Errno::NAME_TOO_LONG)?;
    let size = file_size(FIRST_LINES);
    if size > sys::file_size_limit() {
        return Err(Errno::TOO_BIG);
    }
    drop(File::open(new, Open::CreateNew)?);
    let result = File::open(new, Open::ReadAppend).and_then(|file| {
        // As yet nobody needs the pages.
        match file.allocate(size) {
            Err(why) if why.is_unsupported() => lengthen(&file, size)?,
            result => result?,
        }
        // Not at its end, so not by this descriptor.
        let file = File::open(new, Open::ReadWrite)?;
        // Numbers that a process of this name and a time have only once.
        let nonce = time.rotate_left(24) ^ pid;
        let mut at = 0;
        for part in [&MAGIC[..], &VERSION.to_le_bytes(), &F::WIDTH.to_le_bytes(), id, &nonce.to_le_bytes()] {
            file.write_at(part, at)?;
            at += part.len();
        }
        file.write_at(&(FIRST_LINES << 1).to_le_bytes(), offset_of!(seen::Header, size))?;
        file.write_at(&(FIRST_LINES).to_le_bytes(), offset_of!(seen::Header, room))
    });
    let result = result.and_then(|()| match sys::link(new, path) {
        // Somebody else was faster.
        Err(Errno::EXISTS) => Ok(()),
        result => result,
    });
    sys::remove(new);
    result
}

/// Looks whether a file is ours, and maps it.
fn adopt<F: Content>(file: &File, room: *mut u8, id: &[u8; 16], most: u64) -> Result<Memory<F>, Refused> {
    let mut name: Name = [0; 40];
    let mut sizes = [0_u64; 2];
    // SAFETY: our own arrays.
    let read = unsafe {
        file.read_exact_at(name.as_mut_ptr(), name.len(), 0)
            .and_then(|()| file.read_exact_at(sizes.as_mut_ptr().cast(), 16, offset_of!(seen::Header, size)))
    };
    let u32_at = |at: usize| name.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes);
    if read.is_err() || !name.starts_with(&MAGIC) || u32_at(offset_of!(seen::Header, width)) != F::WIDTH {
        return Err(Refused::Foreign);
    }
    let version = u32_at(offset_of!(seen::Header, version));
    if version != VERSION {
        return Err(Refused::Version(version));
    }
    if name.get(16..32) != Some(&id[..]) {
        return Err(Refused::OtherBuild);
    }
    let [lines, has_room] = sizes.map(u64::from_le);
    let lines = lines >> 1;
    // What others add meanwhile makes the file longer only.
    let length = file.length().map_err(Refused::System)?;
    let fits = (FIRST_LINES..=MOST_LINES).contains(&lines)
        && lines.is_multiple_of(BATCH)
        && (lines..=MOST_LINES + ROOM).contains(&has_room)
        && length >= file_size(has_room);
    if !fits {
        return Err(Refused::Corrupt);
    }
    let least = file_size(has_room) as usize;
    let mut length = file_size(if most == 0 { MOST_LINES } else { most.min(MOST_LINES) }) as usize;
    loop {
        length = length.max(least);
        match file.map(length) {
            Ok(at) => return Ok(Memory::new(at, length, room, name)),
            // The process may be limited in its addresses.
            Err(_) if length > least => length /= 4,
            Err(why) => return Err(Refused::System(why)),
        }
    }
}
