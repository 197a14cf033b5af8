//! Coverage: puts a file behind a module's counters.
//!
//! Instrumented code stores to its counters and knows nothing of this. When the module enters, a counter file
//! ([`unseen_abi::counters`]) is made and mapped over them: from then on what is stored is in the kernel's hands, and
//! survives whatever happens to the process. All blocks of the file are reserved before: a disk that fills up later can't
//! turn a store into `SIGBUS`. If anything fails, the counters stay what they were. Whoever tidies up a store may remove
//! counter files of living processes, but must never shorten them.

use crate::confinement::Confinement;
use crate::modules::{self, Module};
use crate::run::Run;
use crate::scratch::Scratch;
use crate::sys::{self, Errno, File, Open};
use crate::text::Text;
use crate::{fork, maps, sink};
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering::SeqCst};
use unseen_abi::counters::{COUNTERS_OFFSET, EXTENSION, Header, MAGIC, VERSION, file_size};
use unseen_abi::event::Kind;
use unseen_abi::mechanism::Mechanism;
use unseen_abi::module::{COUNTER_PAGE, ModuleRecord};
use unseen_abi::options;

/// How often a new name is tried when a file of that name is already there.
const ATTEMPTS: u64 = 16;

/// What failed, and why.
struct Failure {
    step: &'static str,
    why: Errno,
}

/// Names the step that failed.
trait Step<T> {
    fn step(self, step: &'static str) -> Result<T, Failure>;
}

impl<T> Step<T> for sys::Result<T> {
    fn step(self, step: &'static str) -> Result<T, Failure> {
        self.map_err(|why| Failure { step, why })
    }
}

/// What becomes of the counts that are already there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counts {
    /// They go into the file: constructors and resolvers of this module that ran before us.
    Keep,
    /// They are the parent's, and already in its file.
    Leave,
}

/// A module enters: its coverage is recorded from now on. Returns whether it is; if not, its probes are of no use.
pub fn enter(run: &'static Run, record: &'static ModuleRecord) -> bool {
    if !record.mechanisms.has(Mechanism::Cover) || run.start.was_tightened(Confinement::now()) {
        return false;
    }
    if modules::is_there(record) {
        return true;
    }
    let Ok(mut scratch) = Scratch::map() else { return false };
    let scratch = &mut *scratch;
    let path = maps::file_at(ptr::from_ref(record).addr(), &mut scratch.input);
    let Some(module) = modules::enter(record, path) else { return false };
    fork::COUNTERS.watch();
    let mut recorded = false;
    match record_to_file(run, module, record, Counts::Keep, scratch) {
        Ok(()) => {
            module.set_recording();
            recorded = true;
        }
        Err(Failure { step, why }) => {
            let what = [b"counters of ", module.path, b": ", step.as_bytes()];
            sink::append_dropped(run, &what, why, scratch);
        }
    }
    if run.was_renamed() {
        sink::append_dropped(run, &[options::RUN.name.as_bytes()], Errno::INVALID, scratch);
    }
    recorded
}

/// Nothing of the module is recorded: it runs without probes from now on.
pub fn silence(record: &ModuleRecord) {
    if let Some(epoch) = epoch(record) {
        epoch.store(0, SeqCst);
    }
}

fn epoch(record: &ModuleRecord) -> Option<&AtomicU32> {
    // SAFETY: null, or the module's own variable, aligned, which only we write.
    unsafe { record.epoch.cast::<AtomicU32>().as_ref() }
}

/// To be called when counters were cleared, not before: a loop that finds its counters set notes the epoch that it read first.
fn begin_epoch(record: &ModuleRecord) {
    if let Some(epoch) = epoch(record) {
        let next = epoch.load(SeqCst).wrapping_add(1).max(1);
        epoch.store(next, SeqCst);
    }
}

/// The process is a new child: it gets files of its own. Where that fails (other root directory, fewer rights, no
/// descriptors, full disk) it goes on with its parent's file, where nothing is lost.
pub fn enter_again(run: &'static Run) {
    let Ok(mut scratch) = Scratch::map() else { return };
    modules::visit_recording(|module, record| {
        if record_to_file(run, module, record, Counts::Leave, &mut scratch).is_ok() {
            begin_epoch(record);
        }
    });
}

/// Forgets what this process has covered so far.
pub fn reset() {
    modules::visit_recording(|_, record| {
        // SAFETY: the module's counters, which are only ever stored to, by anybody.
        unsafe { ptr::write_bytes(record.counters, 0, record.counter_count as usize) };
        begin_epoch(record);
    });
}

/// Makes a counter file and maps it over the module's counters.
fn record_to_file(
    run: &Run,
    module: &Module,
    record: &ModuleRecord,
    counts: Counts,
    scratch: &mut Scratch,
) -> Result<(), Failure> {
    let length = counters_length(run, record).step("counters")?;
    let (pid, parent, mut time) = (sys::process_id(), sys::parent_id(), sys::time());
    let file = create(run, record, pid, &mut time, scratch).step("open")?;
    let finished = reserve(&file, record.counter_count, &scratch.zeros)
        .and_then(|()| write_header(&file, module, record, [pid, parent], time, &mut scratch.header).step("header"))
        .and_then(|()| match counts {
            Counts::Keep => write_counts(&file, record.counters, length).step("counts"),
            Counts::Leave => Ok(()),
        })
        // Last: a file without it was never finished.
        .and_then(|()| file.write_at(&MAGIC, 0).step("header"))
        .and_then(|()| map(&file, record.counters, length, counts).step("mmap"));
    drop(file);
    if finished.is_err() {
        if let Ok(path) = run.path(name(record, pid, time, &mut scratch.name), &mut scratch.path) {
            sys::remove(path);
        }
        return finished;
    }
    let name = name(record, pid, time, &mut scratch.name);
    // The log is for people and for finding modules; the counter file stands for itself if this fails.
    let _ = sink::append(run, Kind::Module, &mut scratch.path, &mut scratch.record, |text| {
        let text = text.decimal(time).bytes(b"\0").decimal(pid.into()).bytes(b"\0").decimal(parent.into());
        text.bytes(b"\0").hex_bytes(&record.id).bytes(b"\0").bytes(name).bytes(b"\0").bytes(module.path)
    });
    Ok(())
}

/// Bytes of memory under the counters: whole pages.
fn counters_length(run: &Run, record: &ModuleRecord) -> sys::Result<usize> {
    let fits = record.counter_count <= (isize::MAX as u64) / 2;
    let is_aligned = record.counters.addr().is_multiple_of(COUNTER_PAGE);
    let is_there = record.counter_count == 0 || (!record.counters.is_null() && run.has_counter_pages);
    if !(fits && is_aligned && is_there) {
        return Err(Errno::INVALID);
    }
    Ok((record.counter_count as usize).next_multiple_of(COUNTER_PAGE))
}

/// The name of a counter file.
fn name<'a>(record: &ModuleRecord, pid: u32, time: u64, buffer: &'a mut [u8]) -> &'a [u8] {
    let [a, b, c, d, ..] = record.id;
    let text = Text::new(buffer).hex_bytes(&[a, b, c, d]).bytes(b"-").decimal(pid.into()).bytes(b"-").hex(time);
    text.bytes(b".").bytes(EXTENSION.as_bytes()).finish().unwrap_or_default()
}

/// Makes a new file of that name; changes `time` until there is none yet.
fn create(run: &Run, record: &ModuleRecord, pid: u32, time: &mut u64, scratch: &mut Scratch) -> sys::Result<File> {
    let is_new = run.is_new();
    let mut has_directory = false;
    let mut attempt = 0;
    loop {
        let path = run.path(name(record, pid, *time, &mut scratch.name), &mut scratch.path)?;
        match File::open(path, Open::CreateNew) {
            // Made only when missing: most processes of a run find it.
            Err(Errno::NO_ENTRY) if !has_directory => {
                run.make_directory(is_new, &mut scratch.path)?;
                has_directory = true;
            }
            Err(Errno::EXISTS) if attempt < ATTEMPTS => {
                attempt += 1;
                *time += 1;
            }
            result => return result,
        }
    }
}

/// Reserves the blocks of a file with `count` counters.
fn reserve(file: &File, count: u64, zeros: &[u8]) -> Result<(), Failure> {
    let size = file_size(count);
    if size > sys::file_size_limit() {
        // Growing it would send the program a signal that kills it.
        return Err(Errno::TOO_BIG).step("setrlimit");
    }
    match file.allocate(size) {
        Err(why) if why.is_unsupported() => {
            let mut written = 0;
            while written < size {
                let n = zeros.len().min((size - written) as usize);
                file.write_at(zeros.get(..n).unwrap_or_default(), written as usize).step("write")?;
                written += n as u64;
            }
            Ok(())
        }
        result => result.step("fallocate"),
    }
}

/// Writes the header without its magic number.
fn write_header(
    file: &File,
    module: &Module,
    record: &ModuleRecord,
    [pid, parent]: [u32; 2],
    time: u64,
    header: &mut Header,
) -> sys::Result<()> {
    header.version = VERSION.to_le();
    header.pid = pid.to_le();
    header.parent = parent.to_le();
    header.id = record.id;
    header.counter_count = record.counter_count.to_le();
    header.time = time.to_le();
    header.path_len = 0;
    // A path that does not fit is left out rather than cut.
    if let Some(room) = header.path.get_mut(..module.path.len()) {
        room.copy_from_slice(module.path);
        header.path_len = (module.path.len() as u32).to_le();
    }
    // SAFETY: all bytes of a header are initialised, and it has no padding (asserted where it is defined).
    let bytes = unsafe { core::slice::from_raw_parts(ptr::from_ref(header).cast::<u8>(), size_of::<Header>()) };
    file.write_at(bytes.get(MAGIC.len()..).unwrap_or_default(), MAGIC.len())
}

/// Writes the pages of counters in which anything is set.
fn write_counts(file: &File, counters: *const u8, length: usize) -> sys::Result<()> {
    for start in (0..length).step_by(COUNTER_PAGE) {
        // SAFETY: inside the counters, page aligned.
        let is_set = unsafe {
            let page = counters.add(start).cast::<u64>();
            (0..COUNTER_PAGE / size_of::<u64>()).any(|i| page.add(i).read_volatile() != 0)
        };
        if is_set {
            // SAFETY: as above.
            unsafe { file.write_memory_at(counters.add(start), COUNTER_PAGE, COUNTERS_OFFSET + start) }?;
        }
    }
    Ok(())
}

/// Maps the file over the counters.
fn map(file: &File, counters: *mut u8, length: usize, counts: Counts) -> sys::Result<()> {
    if length == 0 {
        return Ok(());
    }
    // SAFETY: these pages hold the counters and nothing else (`ModuleRecord::counters`), whose values are in the file.
    unsafe {
        file.map_over(counters, length, COUNTERS_OFFSET).inspect_err(|_| {
            // Kernels before 6.12 take the old pages away before they ask the file system, which may refuse. A child's
            // pages are its parent's mapping, which was not refused.
            if counts == Counts::Keep && sys::map_memory_over(counters, length).is_ok() {
                let _ = file.read_exact_at(counters, length, COUNTERS_OFFSET);
            }
        })
    }
}
