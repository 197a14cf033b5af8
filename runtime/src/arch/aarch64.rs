//! What only assembly can say, for AArch64: a system call, an address that may be missing, bulk memory.

use core::arch::asm;

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
