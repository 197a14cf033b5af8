//! What only assembly can say, for x86-64: a system call, an address that may be missing, bulk memory.
//! A port is one more file like this one.

use core::arch::asm;

/// Makes system call `number`. Gives what the kernel gives: -4095..=-1 are errors.
///
/// # Safety
/// The arguments must be good for that call, also in what it does to memory.
#[inline]
pub unsafe fn system_call(number: u32, a: [usize; 6]) -> isize {
    let result;
    // SAFETY: the kernel's convention: number in rax, arguments in six registers; rcx and r11 are overwritten.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a[0],
            in("rsi") a[1],
            in("rdx") a[2],
            in("r10") a[3],
            in("r8") a[4],
            in("r9") a[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// What tells this thread from others: the first word of its control block, which is the block's address.
#[inline]
pub fn thread_pointer() -> usize {
    let pointer;
    // SAFETY: one load; there is a control block, see `has_thread_pointer`.
    unsafe { asm!("mov {}, fs:[0]", out(reg) pointer, options(pure, readonly, nostack, preserves_flags)) };
    pointer
}

/// Whether somebody (a libc) has set a thread pointer up.
pub fn has_thread_pointer() -> bool {
    const ARCH_GET_FS: usize = 0x1003;
    let mut base = 0_usize;
    let number = linux_raw_sys::general::__NR_arch_prctl;
    // SAFETY: writes one word.
    let result = unsafe { system_call(number, [ARCH_GET_FS, (&raw mut base).addr(), 0, 0, 0, 0]) };
    result == 0 && base != 0
}

/// Where the stack ends now.
#[inline]
pub fn stack_pointer() -> usize {
    let pointer;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

/// The frame of whoever called the function into which this is inlined. That function has a frame pointer: `scripts/build-runtime`
/// sees to it.
#[inline(always)]
pub fn callers_frame() -> usize {
    let frame;
    // SAFETY: reads what the function itself put there.
    unsafe { asm!("mov {}, [rbp]", out(reg) frame, options(nostack, preserves_flags, readonly)) };
    frame
}

/// Whether a call instruction ends there. `read` gives numbers of so many bytes.
pub fn follows_call(address: usize, mut read: impl FnMut(usize, usize) -> Option<u64>) -> bool {
    let mut byte = |back: usize| read(address.wrapping_sub(back), 1);
    // call rel32; else call through a register or memory, whose length depends on how it is addressed.
    byte(5) == Some(0xe8)
        || [2, 3, 4, 6, 7].iter().any(|n| byte(*n) == Some(0xff) && byte(*n - 1).is_some_and(|m| m >> 3 & 7 == 2))
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
                concat!("mov {}, qword ptr [rip + ", $symbol, "@GOTPCREL]"),
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
#[cfg_attr(test, allow(dead_code))]
#[inline]
pub unsafe fn copy_up(to: *mut u8, from: *const u8, n: usize) {
    // SAFETY: the caller's promise; the direction flag is clear by the calling convention.
    unsafe {
        asm!("rep movsb", inout("rcx") n => _, inout("rdi") to => _, inout("rsi") from => _,
            options(nostack, preserves_flags));
    }
}

/// Sets `n` bytes.
///
/// # Safety
/// The range must be valid.
#[cfg_attr(test, allow(dead_code))]
#[inline]
pub unsafe fn fill(to: *mut u8, byte: u8, n: usize) {
    // SAFETY: as above.
    unsafe {
        asm!("rep stosb", inout("rcx") n => _, inout("rdi") to => _, in("al") byte, options(nostack, preserves_flags));
    }
}
