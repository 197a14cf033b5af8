//! What only assembly can say, for AArch64: a system call, an address that may be missing, bulk memory.

use crate::registers::Registers;
use core::arch::{asm, naked_asm};
use core::ffi::c_void;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Acquire;

/// Makes system call `number`. Gives what the kernel gives: -4095..=-1 are errors.
///
/// # Safety
/// The arguments must be good for that call, also in what it does to memory.
#[inline]
pub unsafe fn system_call(number: u32, a: [usize; 6]) -> isize {
    let result;
    // SAFETY: the kernel's convention: number in x8, arguments in x0 to x5, result in x0.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number as usize,
            inlateout("x0") a[0] => result,
            in("x1") a[1],
            in("x2") a[2],
            in("x3") a[3],
            in("x4") a[4],
            in("x5") a[5],
            options(nostack),
        );
    }
    result
}

/// What tells this thread from others.
#[inline]
pub fn thread_pointer() -> usize {
    let pointer;
    // SAFETY: reads a register.
    unsafe { asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

/// Whether somebody (a libc) has set a thread pointer up.
pub fn has_thread_pointer() -> bool {
    thread_pointer() != 0
}

/// Where the stack ends now.
#[inline]
pub fn stack_pointer() -> usize {
    let pointer;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

/// The frame of whoever called the function into which this is inlined. That function has a frame pointer: `scripts/build-runtime`
/// sees to it.
#[inline(always)]
pub fn callers_frame() -> usize {
    let frame;
    // SAFETY: reads what the function itself put there.
    unsafe { asm!("ldr {}, [x29]", out(reg) frame, options(nostack, preserves_flags, readonly)) };
    frame
}

/// Which of the words of two lines may be this one: a bit for each of the first line's, then of the second's.
///
/// # Safety
/// Always safe here; elsewhere lines have to be aligned to 16 bytes.
#[inline(always)]
pub unsafe fn words_like(first: &[AtomicU64; 8], second: &[AtomicU64; 8], word: u64) -> u32 {
    let mut found = 0;
    for (i, other) in first.iter().chain(second).enumerate() {
        found |= u32::from(other.load(Acquire) == word) << i;
    }
    found
}

/// A byte of a line's last word, by a number below 8.
#[inline(always)]
pub fn byte_of_last(line: &[AtomicU64; 8], index: usize) -> u64 {
    line[7].load(Acquire) >> (index * 8 % 64) & 0xff
}

/// Whether a call instruction ends there. `read` gives numbers of so many bytes.
pub fn follows_call(address: usize, mut read: impl FnMut(usize, usize) -> Option<u64>) -> bool {
    // bl, blr
    read(address.wrapping_sub(4), 4).is_some_and(|w| w & 0xfc00_0000 == 0x9400_0000 || w & 0xffff_fc1f == 0xd63f_0000)
}

/// The address of a symbol as the linker or loader filled it in: null if nobody defines it. Reads the global offset
/// table, because a direct reference to a missing symbol could not be linked into position-independent code.
macro_rules! address_of_weak {
    ($symbol:literal) => {{
        let address: *const ();
        // SAFETY: one load from the global offset table.
        unsafe {
            core::arch::asm!(
                concat!(".weak ", $symbol),
                concat!("adrp {0}, :got:", $symbol),
                concat!("ldr {0}, [{0}, :got_lo12:", $symbol, "]"),
                out(reg) address,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        address
    }};
}
pub(crate) use address_of_weak;

/// Copies `n` bytes from low to high addresses.
///
/// # Safety
/// Both ranges must be valid; `to` may overlap `from` only if it begins below it.
#[inline]
pub unsafe fn copy_up(to: *mut u8, from: *const u8, n: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            "cbz {n}, 3f",
            "2:",
            "ldrb {byte:w}, [{from}], #1",
            "strb {byte:w}, [{to}], #1",
            "subs {n}, {n}, #1",
            "b.ne 2b",
            "3:",
            n = inout(reg) n => _,
            to = inout(reg) to => _,
            from = inout(reg) from => _,
            byte = out(reg) _,
            options(nostack),
        );
    }
}

/// Sets `n` bytes.
///
/// # Safety
/// The range must be valid.
#[inline]
pub unsafe fn fill(to: *mut u8, byte: u8, n: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            "cbz {n}, 3f",
            "2:",
            "strb {byte:w}, [{to}], #1",
            "subs {n}, {n}, #1",
            "b.ne 2b",
            "3:",
            n = inout(reg) n => _,
            to = inout(reg) to => _,
            byte = in(reg) u32::from(byte),
            options(nostack),
        );
    }
}

/// Makes a process that shares this one's memory and calls `entry(argument)` on its own stack, and waits until it changes `word` from 2,
/// or is dead, when the kernel makes it 0. Returns the process's id or an error. Meanwhile the stack pointer is in `saved`: a
/// copy of this process can return from here by [`return_from`].
///
/// # Safety
/// `stack` is the end of a stack; `flags` must be good for that, with `CLONE_CHILD_CLEARTID`.
#[unsafe(naked)]
pub unsafe extern "C" fn clone_and_wait(
    flags: usize,
    stack: usize,
    word: *const u32,
    entry: unsafe extern "C" fn(*mut c_void) -> !,
    argument: *mut c_void,
    saved: *mut usize,
) -> isize {
    naked_asm!(
        "stp x29, x30, [sp, #-160]!",
        "stp x19, x20, [sp, #16]",
        "stp x21, x22, [sp, #32]",
        "stp x23, x24, [sp, #48]",
        "stp x25, x26, [sp, #64]",
        "stp x27, x28, [sp, #80]",
        "stp d8, d9, [sp, #96]",
        "stp d10, d11, [sp, #112]",
        "stp d12, d13, [sp, #128]",
        "stp d14, d15, [sp, #144]",
        "mov x9, sp",
        "str x9, [x5]",
        "mov x19, x2",
        "mov x20, x3",
        "mov x21, x4",
        // clone(flags, stack, parent's word, thread pointer, child's word)
        "mov x4, x2",
        "mov x2, #0",
        "mov x3, #0",
        "mov x8, #220",
        "svc 0",
        "cmp x0, #0",
        "b.lt 4f",
        "b.eq 5f",
        "mov x22, x0",
        "2:",
        "ldar w9, [x19]",
        "cmp w9, #2",
        "b.ne 3f",
        // futex(word, FUTEX_WAIT, 2, no timeout)
        "mov x0, x19",
        "mov x1, #0",
        "mov x2, #2",
        "mov x3, #0",
        "mov x8, #98",
        "svc 0",
        "b 2b",
        "3:",
        "mov x0, x22",
        "4:",
        "ldp x19, x20, [sp, #16]",
        "ldp x21, x22, [sp, #32]",
        "ldp x23, x24, [sp, #48]",
        "ldp x25, x26, [sp, #64]",
        "ldp x27, x28, [sp, #80]",
        "ldp d8, d9, [sp, #96]",
        "ldp d10, d11, [sp, #112]",
        "ldp d12, d13, [sp, #128]",
        "ldp d14, d15, [sp, #144]",
        "ldp x29, x30, [sp], #160",
        "ret",
        "5:",
        "mov x29, #0",
        "mov x30, #0",
        "mov x0, x21",
        "blr x20",
        "brk #1",
    )
}

/// Whether the processor checks returns against a second stack: a copy of the process could not return from there.
pub fn has_shadow_stack() -> bool {
    const PR_GET_SHADOW_STACK_STATUS: usize = 74;
    let mut features = 0_u64;
    let number = linux_raw_sys::general::__NR_prctl;
    // SAFETY: writes one word.
    let result = unsafe { system_call(number, [PR_GET_SHADOW_STACK_STATUS, (&raw mut features).addr(), 0, 0, 0, 0]) };
    result == 0 && features & 1 != 0
}

/// Returns `value` from the [`clone_and_wait`] that put `stack` there.
///
/// # Safety
/// Only in a copy of the process that was made while it waited.
#[unsafe(naked)]
pub unsafe extern "C" fn return_from(stack: usize, value: isize) -> ! {
    naked_asm!(
        "mov sp, x0",
        "mov x0, x1",
        "ldp x19, x20, [sp, #16]",
        "ldp x21, x22, [sp, #32]",
        "ldp x23, x24, [sp, #48]",
        "ldp x25, x26, [sp, #64]",
        "ldp x27, x28, [sp, #80]",
        "ldp d8, d9, [sp, #96]",
        "ldp d10, d11, [sp, #112]",
        "ldp d12, d13, [sp, #128]",
        "ldp d14, d15, [sp, #144]",
        "ldp x29, x30, [sp], #160",
        "ret",
    )
}

/// Makes a system call at an address that a filter can tell: the one that a call without arguments (null) returns.
///
/// # Safety
/// As [`system_call`].
#[unsafe(naked)]
pub unsafe extern "C" fn gate(number: usize, a: *const [usize; 6]) -> isize {
    naked_asm!(
        "cbz x1, 3f",
        "mov x8, x0",
        "mov x9, x1",
        "ldp x0, x1, [x9]",
        "ldp x2, x3, [x9, #16]",
        "ldp x4, x5, [x9, #32]",
        "svc 0",
        "2:",
        "ret",
        "3:",
        "adr x0, 2b",
        "ret",
    )
}

/// Where a signal handler returns to.
#[unsafe(naked)]
pub unsafe extern "C" fn end_of_handler() {
    naked_asm!("mov x8, #139", "svc 0")
}

/// Where the kernel's `ucontext` has x0: the arguments of a system call are there and in the registers that follow, its result is
/// expected there.
const REGISTERS: usize = 184;

/// The arguments of the system call at which a signal came.
///
/// # Safety
/// `context` is what a signal handler was given.
pub unsafe fn trapped_arguments(context: *mut c_void) -> [usize; 6] {
    // SAFETY: the caller's promise; words of the structure.
    [0, 1, 2, 3, 4, 5].map(|n| unsafe { context.byte_add(REGISTERS + 8 * n).cast::<usize>().read() })
}

/// What that system call is to give.
///
/// # Safety
/// As [`trapped_arguments`].
pub unsafe fn set_trapped_result(context: *mut c_void, result: isize) {
    // SAFETY: the caller's promise.
    unsafe { context.byte_add(REGISTERS).cast::<isize>().write(result) };
}

/// How many registers tables for unwinding know: x0 to x30 and the stack pointer. By DWARF's numbers, as below.
pub const UNWIND_REGISTERS: usize = 32;
/// The stack pointer.
pub const UNWIND_STACK: usize = 31;
/// The frame pointer, and where a call returns to.
const UNWIND_FRAME: usize = 29;
const UNWIND_LINK: usize = 30;

/// The registers at the place where a signal came.
///
/// # Safety
/// As [`trapped_arguments`].
pub unsafe fn trapped_registers(context: *const c_void) -> Registers {
    // SAFETY: the caller's promise; words of the structure, which has the stack pointer and the place behind x30.
    let word = |n: usize| unsafe { context.byte_add(REGISTERS + 8 * n).cast::<usize>().read() };
    let mut registers = Registers::at(word(UNWIND_REGISTERS));
    for n in 0..UNWIND_REGISTERS {
        registers.set(n, Some(word(n)));
    }
    registers
}

/// The registers of a caller that tell the way, when a call returns to it: frame pointer and place. Where its stack ends is not told: its
/// frame pointer must tell the way.
#[derive(Clone, Copy)]
pub struct Caller([usize; 2]);

impl Caller {
    pub fn registers(self) -> Registers {
        let Caller([frame, pc]) = self;
        Registers::at(pc).with(UNWIND_FRAME, frame)
    }
}

/// Whoever called the function into which this is inlined. That function has a frame pointer, as for [`callers_frame`].
#[inline(always)]
pub fn caller() -> Caller {
    let (frame, pc): (usize, usize);
    // SAFETY: reads what the function itself put there.
    unsafe {
        asm!("ldp {}, {}, [x29]", out(reg) frame, out(reg) pc, options(nostack, preserves_flags, readonly));
    }
    Caller([frame, pc])
}

/// Makes registers at the entry of a function those of its caller, where the call returns to. `read` gives words of memory.
pub fn return_at_entry(registers: &mut Registers, _: impl FnOnce(usize) -> Option<usize>) -> bool {
    let link = registers.get(UNWIND_LINK);
    registers.pc = link.unwrap_or(0);
    link.is_some()
}

/// Which signals are blocked when a signal handler has returned: a word of what it was given.
pub const TRAPPED_MASK: usize = 40;

/// What seccomp calls this architecture.
pub const AUDIT: u32 = 0xc000_00b7;
