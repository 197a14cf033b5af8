//! What a test that did not pass says of itself: who called the unit, where it was, and what it was called with.
//!
//! In, in the test: registers, and where values are allowed the values. Out: texts in memory that the supervisor has too; an [`Account`] of
//! them there. Who walks the stack is the test: its stack is the copy of the caller's, and the program pays nothing for it.
//!
//! Unlike the [`Note`](super::note::Note) it is not guarded: who writes wildly is shown what he wrote. Nothing is decided by it.

use super::kernel;
use crate::registers::Registers;
use crate::sys;
use crate::text::Text;
use crate::unwind::modules::Modules;
use crate::unwind::{self, End, Rows};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering::SeqCst};

/// So many frames of a stack are told.
const FRAMES: usize = 32;

/// What there is to tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The files of the code that frames are in, a line each.
    Modules = 0,
    /// Who called the unit, innermost first: `MODULE:ADDRESS` in hex for each frame, as the linker knows the address; ` ...` if the
    /// walk was cut.
    Callers = 1,
    /// Where the test was when it ended: as above; `!` behind an address that is no return address.
    Place = 2,
    /// The arguments of the unit.
    Arguments = 3,
    /// What it reads.
    Values = 4,
}

const PARTS: usize = 5;
const LONGEST: usize = 12 * 1024;

/// The memory: a length and bytes for each part. Pages that are not used cost nothing.
#[repr(C)]
pub struct Paper {
    lengths: [AtomicU32; PARTS],
    texts: [UnsafeCell<[u8; LONGEST]>; PARTS],
}

/// What the supervisor reads.
#[derive(Clone, Copy)]
pub struct Account<'a>(Option<&'a Paper>);

impl<'a> Account<'a> {
    pub const NONE: Account<'static> = Account(None);

    /// # Safety
    /// The test is dead, or nothing will be read before it is.
    pub unsafe fn of(paper: &'a Paper) -> Account<'a> {
        Account(Some(paper))
    }

    pub fn part(&self, part: Part) -> &'a [u8] {
        let Some(paper) = self.0 else { return &[] };
        let (length, text) = (paper.lengths.get(part as usize), paper.texts.get(part as usize));
        // SAFETY: nobody writes any more.
        let text = text.map(|text| unsafe { &*text.get() });
        text.zip(length).and_then(|(text, length)| text.get(..length.load(SeqCst) as usize)).unwrap_or_default()
    }
}

/// The paper of this process, if it is a test.
static PAPER: AtomicPtr<Paper> = AtomicPtr::new(core::ptr::null_mut());

/// This process is the test whose paper that is.
pub fn adopt(paper: *mut Paper) {
    PAPER.store(paper, SeqCst);
}

/// Room for a walk: handlers of crashes have hardly any stack.
struct Room {
    modules: Modules,
    rows: Rows,
    caller: Registers,
    /// How many frames of the caller are not told.
    ours: usize,
    now: Registers,
}

struct Rooms(UnsafeCell<Room>);
// SAFETY: whoever has set `TAKEN` is the only one to use it; before that, whoever begins the test.
unsafe impl Sync for Rooms {}
static ROOM: Rooms = Rooms(UnsafeCell::new(Room {
    modules: Modules::new(),
    rows: Rows::new(),
    caller: Registers::at(0),
    ours: 0,
    now: Registers::at(0),
}));
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Where the room lies, and its length: a test needs it.
pub fn room() -> [usize; 2] {
    [ROOM.0.get().addr(), size_of::<Room>()]
}

/// In a test that begins: the registers of who asked for it, and how many frames from there on are ours.
pub fn set_caller(registers: Registers, ours: usize) {
    // SAFETY: the test has one thread yet.
    let room = unsafe { &mut *ROOM.0.get() };
    (room.caller, room.ours) = (registers, ours);
}

/// In a test: tells a part. What does not fit is not told.
pub fn tell(part: Part, write: impl FnOnce(Text<'_>) -> Text<'_>) {
    // SAFETY: null, or the paper, which stays mapped.
    let Some(paper) = (unsafe { PAPER.load(SeqCst).as_ref() }) else { return };
    let (Some(length), Some(text)) = (paper.lengths.get(part as usize), paper.texts.get(part as usize)) else { return };
    // SAFETY: the supervisor reads when the test is dead, and one thread of the test writes.
    let written = write(Text::new(unsafe { &mut *text.get() })).finish().map_or(0, <[u8]>::len);
    length.store(written as u32, SeqCst);
}

/// In a test that did not pass: tells who called the unit, and where the test is, if registers are given. Once; others wait until it is told.
pub fn tell_stacks(place: Option<Registers>) {
    if TAKEN.swap(true, SeqCst) {
        sys::sleep(50_000_000);
        return;
    }
    // SAFETY: we have taken it.
    let room = unsafe { &mut *ROOM.0.get() };
    if let Some(place) = place {
        room.now = place;
        tell_stack(room, Part::Place, true);
    }
    if room.caller.pc != 0 {
        room.now = room.caller;
        tell_stack(room, Part::Callers, false);
    }
    let modules = &room.modules;
    tell(Part::Modules, |text| (0..modules.count()).fold(text, |text, n| text.bytes(modules.name(n)).bytes(b"\n")));
}

fn tell_stack(room: &mut Room, part: Part, is_exact: bool) {
    let Room { modules, rows, ours, now, .. } = room;
    let mut ours = if part == Part::Callers { *ours } else { 0 };
    tell(part, |text| {
        let mut text = Some(text);
        let end = unwind::walk(modules, rows, now, is_exact, FRAMES + ours, |modules, address, is_exact| {
            if ours > 0 {
                ours -= 1;
                return;
            }
            text = text.take().map(|text| frame(text, modules, address, is_exact));
        });
        let text = text.unwrap_or_else(|| Text::new(&mut []));
        if end == End::Cut { text.bytes(b" ...") } else { text }
    });
}

fn frame<'a>(text: Text<'a>, modules: &mut Modules, address: usize, is_exact: bool) -> Text<'a> {
    let text = if text.length() > 0 { text.bytes(b" ") } else { text };
    // A return address may be the first of another piece of code.
    let inside = if is_exact { address } else { address.wrapping_sub(1) };
    let text = match modules.find(inside) {
        Some((number, module)) => text.hex(number as u64).bytes(b":").hex(address.wrapping_sub(module.bias) as u64),
        None => text.bytes(b"?:").hex(address as u64),
    };
    if is_exact { text.bytes(b"!") } else { text }
}

/// The name of this thread: up to 15 bytes and a zero.
pub fn thread_name() -> [u8; 16] {
    let mut name = [0; 16];
    let _ = kernel::control(linux_raw_sys::prctl::PR_GET_NAME, name.as_mut_ptr().addr());
    name
}
