//! How many tests run at once: for each a slot with a stack for its supervisor. In: who starts a test. Out: a free slot.
//!
//! The slots lie in memory that a fork of the program gets empty: the program's children are nobody's supervisors' parents. A
//! supervisor that has ended is a zombie until the next test begins; there are never more of them than slots.

use super::account::Account;
use super::note::{self, Note};
use super::outcome::{Missing, Outcome, Reason, Report};
use super::projection::Outside;
use super::signals::{Mask, Stack};
use super::{Finish, Job, Limits, Side, kernel};
use crate::sys::{self, Errno, Result};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst};
use linux_raw_sys::general as k;

/// So many tests at most.
pub const COUNT: usize = 16;

const STACK: usize = 256 * 1024;
/// Below each stack lies memory that nobody may touch.
const GUARD: usize = 64 * 1024;

/// What a supervisor is given.
#[derive(Clone, Copy)]
pub struct Start {
    pub limits: Limits,
    pub job: Job,
    pub finish: Finish,
    /// Which signals the program's thread had blocked.
    pub mask: Mask,
    /// Its stack for handlers.
    pub alternate: Stack,
    /// Its id.
    pub thread: u32,
    /// What the test will not have.
    pub outside: Outside,
    /// What guards its note.
    pub number: u64,
    /// When it began to stand still.
    pub started: u64,
}

/// What a slot is used for. All zero is free.
const FREE: u32 = 0;
const CLAIMED: u32 = 1;
const RUNNING: u32 = 2;
const REAPING: u32 = 3;

/// How it stands with the supervisor: it has not forked yet; it has; it is dead.
const FORKING: u32 = 2;
const FORKED: u32 = 1;
const DEAD: u32 = 0;

/// A slot.
#[repr(C)]
pub struct Slot {
    state: AtomicU32,
    life: AtomicU32,
    supervisor: AtomicU32,
    /// Why it could not fork.
    error: AtomicU32,
    has_reported: AtomicU32,
    /// So long the program stood still, in ns.
    stall: AtomicU64,
    /// What the test tells its supervisor by, while that has use for it.
    note: AtomicPtr<Note>,
    /// Where the program's thread waits.
    saved: UnsafeCell<usize>,
    start: UnsafeCell<MaybeUninit<Start>>,
    stack: AtomicUsize,
}

#[repr(C)]
struct Table {
    /// The process whose memory this is; another one is its guest.
    owner: AtomicU32,
    active: AtomicU32,
    slots: [Slot; COUNT],
}

static TABLE: AtomicPtr<Table> = AtomicPtr::new(ptr::null_mut());
/// The stacks: kept by the program's children, which have them anyway.
static STACKS: [AtomicUsize; COUNT] = [const { AtomicUsize::new(0) }; COUNT];

fn table() -> Option<&'static Table> {
    // SAFETY: null, or memory that stays and is only changed through atomics, or by whoever has claimed a slot.
    unsafe { TABLE.load(SeqCst).as_ref() }
}

fn make_table() -> Result<&'static Table> {
    if let Some(table) = table() {
        return Ok(table);
    }
    let fresh = sys::map_memory(size_of::<Table>())?;
    let advice = [fresh.addr(), size_of::<Table>(), k::MADV_WIPEONFORK as usize, 0, 0, 0];
    // SAFETY: memory of our own.
    let wiped = unsafe { sys::call(k::__NR_madvise, advice) };
    let won = wiped.is_ok() && TABLE.compare_exchange(ptr::null_mut(), fresh.cast(), SeqCst, SeqCst).is_ok();
    if !won {
        // SAFETY: nobody has seen it.
        unsafe { sys::unmap_memory(fresh, size_of::<Table>()) };
    }
    wiped?;
    table().ok_or(Errno::INVALID)
}

/// The memory is this process's own. To be called when it starts; else whoever first starts a test is taken to be the owner.
pub fn adopt() {
    if let Ok(table) = make_table() {
        let _ = table.owner.compare_exchange(0, sys::process_id(), SeqCst, SeqCst);
    }
}

/// Whether the memory is this process's own: not so between `vfork` and `exec`.
pub fn is_owner() -> bool {
    table().is_some_and(|table| table.owner.load(SeqCst) == sys::process_id())
}

/// The end of the stack with that number, made when it is first asked for.
fn stack_end(stack: &AtomicUsize) -> Result<usize> {
    let at = stack.load(SeqCst);
    if at != 0 {
        return Ok(at);
    }
    let fresh = sys::map_memory(GUARD + STACK)?;
    // SAFETY: memory of our own.
    let guarded = unsafe { sys::call(k::__NR_mprotect, [fresh.addr(), GUARD, 0, 0, 0, 0]) };
    let end = fresh.addr() + GUARD + STACK;
    if guarded.is_err() || stack.compare_exchange(0, end, SeqCst, SeqCst).is_err() {
        // SAFETY: nobody has seen it.
        unsafe { sys::unmap_memory(fresh, GUARD + STACK) };
    }
    guarded?;
    Ok(stack.load(SeqCst))
}

impl Slot {
    /// A slot for one more test, if there may be one more.
    pub fn claim(at_once: u32) -> Result<Option<&'static Slot>> {
        let table = make_table()?;
        adopt();
        let most = at_once.min(COUNT as u32);
        if table.active.fetch_update(SeqCst, SeqCst, |n| (n < most).then(|| n + 1)).is_err() {
            return Ok(None);
        }
        for (slot, stack) in table.slots.iter().zip(&STACKS) {
            if slot.state.compare_exchange(FREE, CLAIMED, SeqCst, SeqCst).is_ok() {
                match stack_end(stack) {
                    Ok(end) => slot.stack.store(end, SeqCst),
                    Err(why) => {
                        slot.free();
                        return Err(why);
                    }
                }
                return Ok(Some(slot));
            }
        }
        table.active.fetch_sub(1, SeqCst);
        Ok(None)
    }

    /// Nobody uses it any more.
    pub fn free(&self) {
        self.unmap_note();
        self.state.store(FREE, SeqCst);
        if let Some(table) = table() {
            table.active.fetch_sub(1, SeqCst);
        }
    }

    /// For a supervisor that is about to start.
    pub fn prepare(&self, start: Start) {
        self.error.store(0, SeqCst);
        self.has_reported.store(0, SeqCst);
        self.stall.store(0, SeqCst);
        // SAFETY: whoever has claimed the slot is the only one to use this.
        unsafe { (*self.start.get()).write(start) };
        self.life.store(FORKING, SeqCst);
    }

    pub fn stack_end(&self) -> usize {
        self.stack.load(SeqCst)
    }

    /// Where its stack begins, and its length.
    pub fn stack(&self) -> (usize, usize) {
        (self.stack_end().saturating_sub(STACK), STACK)
    }

    pub fn life(&self) -> *const u32 {
        self.life.as_ptr()
    }

    pub fn saved(&self) -> *mut usize {
        self.saved.get()
    }

    /// In the supervisor: what it was given, and where the program's thread waits.
    pub fn start(&self) -> (Start, usize) {
        // SAFETY: written before the supervisor was made.
        unsafe { ((*self.start.get()).assume_init(), *self.saved.get()) }
    }

    /// A note for the test. Made by the program, which can give it back whatever becomes of the supervisor.
    pub fn map_note(&self, number: u64) -> Result<()> {
        self.note.store(note::map(number)?, SeqCst);
        Ok(())
    }

    pub fn note(&self) -> *mut Note {
        self.note.load(SeqCst)
    }

    /// Gives the note back, if there is one.
    pub fn unmap_note(&self) {
        let note = self.note.swap(ptr::null_mut(), SeqCst);
        if !note.is_null() {
            // SAFETY: ours, and used by nobody any more.
            unsafe { sys::unmap_memory(note.cast(), note::LENGTH) };
        }
    }

    /// In the supervisor: the test was forked, or could not be. The program goes on.
    pub fn release(&self, error: Option<Errno>) {
        if let Some(Errno(number)) = error {
            self.error.store(number, SeqCst);
        }
        self.life.store(FORKED, SeqCst);
        kernel::wake(self.life());
    }

    /// In the supervisor: `finish` is about to be called.
    pub fn set_reported(&self) {
        self.has_reported.store(1, SeqCst);
    }

    /// So long the program stood still.
    pub fn stall(&self) -> u64 {
        self.stall.load(SeqCst)
    }

    /// In the program: it goes on. `result` is what cloning the supervisor gave.
    pub fn started(&self, result: isize) -> Side {
        if result < 0 {
            self.free();
            return Side::Failed(Errno(-result as u32));
        }
        self.supervisor.store(result as u32, SeqCst);
        let error = self.error.load(SeqCst);
        if error != 0 {
            let _ = kernel::wait(result, k::__WCLONE);
            self.free();
            return Side::Failed(Errno(error));
        }
        // SAFETY: as in `start`.
        let started = unsafe { (*self.start.get()).assume_init_ref() }.started;
        self.stall.store(sys::monotonic_time().saturating_sub(started).max(1), SeqCst);
        self.state.store(RUNNING, SeqCst);
        Side::Host
    }

    fn reap(&self) {
        if self.life.load(SeqCst) != DEAD || self.state.compare_exchange(RUNNING, REAPING, SeqCst, SeqCst).is_err() {
            return;
        }
        let supervisor = self.supervisor.load(SeqCst) as isize;
        if let Ok(None) = kernel::wait(supervisor, k::__WCLONE | k::WNOHANG) {
            // It has left our memory, but is not quite dead.
            self.state.store(RUNNING, SeqCst);
            return;
        }
        if self.has_reported.load(SeqCst) == 0 {
            let (start, _) = self.start();
            let outcome = Outcome::Environment(Reason::Supervisor);
            let wall_ns = sys::monotonic_time().saturating_sub(start.started);
            let report = Report {
                outcome,
                test: start.job.test,
                wall_ns,
                cpu_ns: 0,
                stall_ns: self.stall(),
                own_ns: 0,
                told: [0; 2],
                left_out: start.outside.bytes(),
                output: &[],
                missing: Missing::OUTPUT,
                thread: start.thread,
                thread_name: &[],
                account: Account::NONE,
            };
            (start.finish)(&start.job, &report);
        }
        self.free();
    }
}

/// Kills all supervisors, and waits until they are dead.
pub fn end_all() {
    let Some(table) = table() else { return };
    for slot in &table.slots {
        // One that is about to be started by another thread is not seen: nobody unloads code that threads are in.
        while slot.state.load(SeqCst) == RUNNING && slot.life.load(SeqCst) != DEAD {
            kernel::kill(slot.supervisor.load(SeqCst) as isize, k::SIGKILL);
            sys::sleep(100_000);
        }
        while slot.state.load(SeqCst) == RUNNING {
            slot.reap();
        }
    }
}

/// Frees the slots whose supervisors have ended.
pub fn reap() {
    if let Some(table) = table() {
        table.slots.iter().for_each(Slot::reap);
    }
}
