//! The program's descriptors, in the test: what leads out is cut off under its number.
//!
//! * Standard output and error go to a file in memory.
//! * A file or directory that is only read is opened anew: the place where it is read is the test's own.
//! * A file that can be written becomes one in memory with the same contents.
//! * What can do no harm (`/dev/null` and the like) stays.
//! * Everything else (sockets, pipes, terminals, ...) is *dead*: the number stays taken, and whoever uses it is stopped by the filter.

use super::kernel;
use super::outcome::Reason;
use crate::sys::{self, File, Open, call};
use crate::text::Text;
use linux_raw_sys::general as k;

/// Descriptors that the filter can tell apart.
pub const TOLD_APART: usize = 1024;
/// Descriptors that are looked at at all.
const MOST: usize = 1 << 16;
/// A file that can be read and written is copied if it is no larger.
const LARGEST_COPY: u64 = 16 << 20;

/// Which descriptors are dead.
pub struct Dead {
    pub words: [u32; TOLD_APART / 32],
    /// Whether any beyond those are.
    pub beyond: bool,
}

impl Dead {
    fn add(&mut self, descriptor: usize) {
        match self.words.get_mut(descriptor / 32) {
            Some(word) => *word |= 1 << (descriptor % 32),
            None => self.beyond = true,
        }
    }
}

/// Cuts off all descriptors; `capture` is where output goes, and is closed.
pub fn replace(capture: Option<usize>) -> Result<Dead, Reason> {
    let mut dead = Dead { words: [0; TOLD_APART / 32], beyond: false };
    let mut open = [0_u64; MOST / 64];
    list(&mut open)?;
    for (word, bits) in open.iter().enumerate() {
        let mut bits = *bits;
        while bits != 0 {
            let descriptor = word * 64 + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            if Some(descriptor) == capture {
                continue;
            }
            let is_output = matches!(descriptor, 1 | 2);
            let done = match capture {
                Some(file) if is_output => put(file, descriptor, 0),
                _ if is_output => null(descriptor),
                _ => renew(descriptor),
            };
            if done.is_none() {
                // If not even that can be done, it must not stay what it is.
                bury(descriptor).or_else(|| close(descriptor)).ok_or(Reason::Descriptors)?;
                dead.add(descriptor);
            }
        }
    }
    if let Some(file) = capture {
        drop(File::from_number(file));
    }
    Ok(dead)
}

/// Marks what is open.
fn list(open: &mut [u64; MOST / 64]) -> Result<(), Reason> {
    let directory = File::open(c"/proc/self/fd", Open::Read).map_err(|_| Reason::NoProc)?;
    let mut too_many = false;
    sys::for_each_entry(&directory, |name| {
        let number = name
            .to_bytes()
            .iter()
            .try_fold(0_usize, |n, digit| n.checked_mul(10)?.checked_add(char::from(*digit).to_digit(10)? as usize));
        match number.and_then(|n| Some((n, open.get_mut(n / 64)?))) {
            Some((n, word)) if n != directory.number() => *word |= 1 << (n % 64),
            Some(_) => {}
            None => too_many = true,
        }
    })
    .map_err(|_| Reason::NoProc)?;
    if too_many { Err(Reason::Descriptors) } else { Ok(()) }
}

/// Puts a file in a descriptor's place.
fn put(file: usize, descriptor: usize, flags: usize) -> Option<()> {
    kernel::plain(k::__NR_dup3, [file, descriptor, flags, 0, 0]).ok().map(drop)
}

fn null(descriptor: usize) -> Option<()> {
    let file = kernel::open(c"/dev/null", k::O_RDWR).ok()?;
    put(file.number(), descriptor, 0)
}

/// A descriptor that is there and good for nothing.
fn bury(descriptor: usize) -> Option<()> {
    let file = kernel::open(c"/", k::O_PATH).ok()?;
    put(file.number(), descriptor, 0)
}

fn close(descriptor: usize) -> Option<()> {
    kernel::plain(k::__NR_close, [descriptor, 0, 0, 0, 0]).ok().map(drop)
}

/// Makes a descriptor the test's own, with the same file, place and flags. `None` if that can't be.
fn renew(descriptor: usize) -> Option<()> {
    let ask = |question: u32| kernel::plain(k::__NR_fcntl, [descriptor, question as usize, 0, 0, 0]).ok();
    let (flags, closes) = (ask(k::F_GETFL)? as u32, ask(k::F_GETFD)? as u32 & k::FD_CLOEXEC != 0);
    if flags & k::O_PATH != 0 {
        return Some(());
    }
    let status = kernel::status(descriptor).ok()?;
    let can_write = flags & k::O_ACCMODE != k::O_RDONLY;
    let file = match status.st_mode & k::S_IFMT {
        k::S_IFCHR if is_harmless(status.st_rdev) => return Some(()),
        k::S_IFDIR => open_again(descriptor, k::O_DIRECTORY)?,
        k::S_IFREG if !can_write => open_again(descriptor, 0).or_else(|| copy(descriptor, status.st_size as u64))?,
        k::S_IFREG if flags & k::O_ACCMODE == k::O_WRONLY => hollow(status.st_size as usize)?,
        k::S_IFREG => copy(descriptor, status.st_size as u64)?,
        _ => return None,
    };
    let kept = (flags & (k::O_APPEND | k::O_NONBLOCK)) as usize;
    let _ = kernel::plain(k::__NR_fcntl, [file.number(), k::F_SETFL as usize, kept, 0, 0]);
    let place = kernel::plain(k::__NR_lseek, [descriptor, 0, k::SEEK_CUR as usize, 0, 0]).ok()?;
    kernel::plain(k::__NR_lseek, [file.number(), place, k::SEEK_SET as usize, 0, 0]).ok()?;
    put(file.number(), descriptor, if closes { k::O_CLOEXEC as usize } else { 0 })
}

/// `null`, `zero`, `full`, `random`, `urandom`.
pub fn is_harmless(device: k::__kernel_ulong_t) -> bool {
    let (major, minor) = (device >> 8 & 0xfff, device & 0xff);
    device >> 20 == 0 && major == 1 && matches!(minor, 3 | 5 | 7 | 8 | 9)
}

fn open_again(descriptor: usize, flags: u32) -> Option<File> {
    let mut path = [0; 40];
    let path = Text::new(&mut path).bytes(b"/proc/self/fd/").decimal(descriptor as u64).path()?;
    kernel::open(path, k::O_RDONLY | flags).ok()
}

/// A file in memory of that length, in which nothing is: nobody can read it by this descriptor.
fn hollow(length: usize) -> Option<File> {
    let file = kernel::memory_file().ok()?;
    kernel::plain(k::__NR_ftruncate, [file.number(), length, 0, 0, 0]).ok()?;
    Some(file)
}

/// A file in memory with the same contents.
fn copy(descriptor: usize, length: u64) -> Option<File> {
    if length > LARGEST_COPY {
        return None;
    }
    let file = hollow(length as usize)?;
    let mut from = 0_u64;
    while from < length {
        let rest = (length - from) as usize;
        // SAFETY: reads and writes the offset.
        let copied = unsafe { call(k::__NR_sendfile, [file.number(), descriptor, (&raw mut from).addr(), rest, 0, 0]) };
        if copied.ok()? == 0 {
            break;
        }
    }
    Some(file)
}
