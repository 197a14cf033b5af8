//! The run this process belongs to, decided once: whether anything is recorded, and where.

use crate::arena;
use crate::confinement::Confinement;
use crate::environment::{self, Settings};
use crate::process::Process;
use crate::scratch::{PATH, Scratch};
use crate::sys::{self, Errno, Result};
use crate::text::Text;
use core::ffi::CStr;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use unseen_abi::{options, store};

/// Room for a file's name behind the run's directory.
pub const LONGEST_NAME: usize = 64;

/// Where this process records.
pub struct Run {
    /// The run's directory, absolute, with a slash at its end. Empty: nothing is recorded.
    directory: &'static [u8],
    /// How many bytes of it name the store.
    store_length: usize,
    /// Whether this process has not made a file yet.
    is_new: AtomicBool,
    /// Whether `UNSEEN_RUN` was no name, so that the default was taken, and nobody was told yet.
    was_renamed: AtomicBool,
    /// What the process was under at its start.
    pub start: Confinement,
    /// Whether files can be mapped over counters on this machine.
    pub has_counter_pages: bool,
}

static NOTHING: Run = Run {
    directory: &[],
    store_length: 0,
    is_new: AtomicBool::new(false),
    was_renamed: AtomicBool::new(false),
    start: Confinement::NONE,
    has_counter_pages: false,
};

/// The decision; null before it was made.
static CURRENT: AtomicPtr<Run> = AtomicPtr::new(ptr::null_mut());

/// The run, if this process records; decides at the first call. Two threads that decide at once come to the same end.
pub fn current() -> Option<&'static Run> {
    if CURRENT.load(Ordering::Acquire).is_null() {
        let decision = ptr::from_ref(decide().unwrap_or(&NOTHING)).cast_mut();
        let _ = CURRENT.compare_exchange(ptr::null_mut(), decision, Ordering::AcqRel, Ordering::Acquire);
    }
    decided()
}

/// Whether the program has certainly locked itself in since it started: our system calls could be its death.
pub fn is_locked_in() -> bool {
    decided().is_some_and(|run| run.start.was_tightened(Confinement::now()))
}

/// The run, if it was decided that this process records.
pub fn decided() -> Option<&'static Run> {
    // SAFETY: null, or a `Run` that lives for ever.
    unsafe { CURRENT.load(Ordering::Acquire).as_ref() }.filter(|run| !run.directory.is_empty())
}

fn decide() -> Option<&'static Run> {
    environment::with_settings(|settings| {
        let store = settings.store()?;
        let mut scratch = Scratch::map().ok()?;
        let process = Process::ask(&mut scratch.input);
        if process.is_privileged {
            return None;
        }
        Run::keep(store, settings, process, &mut scratch)
    })
}

impl Run {
    fn keep(store: &[u8], settings: Settings<'_>, process: Process, scratch: &mut Scratch) -> Option<&'static Run> {
        let name = settings.run();
        let is_name = !name.contains(&b'/') && name != b"." && name != b"..";
        let mut text = Text::new(&mut scratch.path);
        if !store.starts_with(b"/") {
            // Kept as it is if there is no way from the root to the working directory.
            match sys::working_directory(&mut scratch.input) {
                Ok(here) if here.starts_with(b"/") => text = text.bytes(here).bytes(b"/"),
                _ => {}
            }
        }
        text = text.bytes(store);
        let store_length = text.length();
        let name = if is_name { name } else { options::RUN.default.as_bytes() };
        let directory = text.bytes(b"/").bytes(store::RUNS.as_bytes()).bytes(b"/").bytes(name).bytes(b"/").finish()?;
        if directory.len() + LONGEST_NAME >= PATH {
            return None;
        }
        let run = arena::allocate(size_of::<Run>())?.cast::<Run>();
        let value = Run {
            directory: arena::keep(directory)?,
            store_length,
            is_new: AtomicBool::new(true),
            was_renamed: AtomicBool::new(!is_name),
            start: Confinement::now(),
            has_counter_pages: process.has_counter_pages,
        };
        // SAFETY: fresh memory of that size and alignment, which lives for ever.
        unsafe {
            run.write(value);
            Some(run.as_ref())
        }
    }

    /// Whether the user must be told that `UNSEEN_RUN` is no name. True once.
    pub fn was_renamed(&self) -> bool {
        self.was_renamed.swap(false, Ordering::Relaxed)
    }

    /// The path of a file in the run's directory.
    pub fn path<'a>(&self, name: &[u8], buffer: &'a mut [u8]) -> Result<&'a CStr> {
        Text::new(buffer).bytes(self.directory).bytes(name).path().ok_or(Errno::NAME_TOO_LONG)
    }

    /// The path of something in the store.
    pub fn store_path<'a>(&self, parts: &[&[u8]], buffer: &'a mut [u8]) -> Result<&'a CStr> {
        let store = self.directory.get(..self.store_length).unwrap_or_default();
        let text = parts.iter().fold(Text::new(buffer).bytes(store).bytes(b"/"), |text, part| text.bytes(part));
        text.path().ok_or(Errno::NAME_TOO_LONG)
    }

    /// Makes a directory in the store, which is there.
    pub fn make_store_directory(&self, name: &[u8], buffer: &mut [u8]) -> Result<()> {
        match sys::make_directory(self.store_path(&[name], buffer)?) {
            Err(Errno::EXISTS) => Ok(()),
            result => result,
        }
    }

    /// Whether the first file is about to be made. True once, and never in a child.
    pub fn is_new(&self) -> bool {
        self.is_new.swap(false, Ordering::Relaxed)
    }

    /// Makes the run's directory and those of the store around it; with `parents` also what is missing above the store.
    /// Only a process that starts may ask for that: one that has changed its root directory since would make a second
    /// store there, which nobody reads.
    pub fn make_directory(&self, parents: bool, buffer: &mut [u8]) -> Result<()> {
        let all = self.directory.len().saturating_sub(1);
        let runs = self.store_length + 1 + store::RUNS.len();
        if parents {
            let slashes = self.directory.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
            for length in slashes.filter(|at| (1..self.store_length).contains(at)) {
                let _ = self.make_level(length, buffer)?;
            }
        }
        let mut result = Ok(());
        for length in [self.store_length, runs, all] {
            result = match self.make_level(length, buffer)? {
                Err(Errno::EXISTS) => Ok(()),
                result => result,
            };
        }
        // A level that could not be made, and was not there, makes the last one fail.
        result
    }

    /// Makes the directory that the first `length` bytes of the run's directory name. Fails if they don't fit.
    fn make_level(&self, length: usize, buffer: &mut [u8]) -> Result<Result<()>> {
        let directory = self.directory.get(..length).unwrap_or_default();
        let path = Text::new(buffer).bytes(directory).path().ok_or(Errno::NAME_TOO_LONG)?;
        Ok(sys::make_directory(path))
    }
}
