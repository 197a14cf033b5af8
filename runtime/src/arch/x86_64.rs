//! What only assembly can say, for x86-64: a system call, an address that may be missing, bulk memory.
//! A port is one more file like this one.

use crate::registers::Registers;
use core::arch::{asm, naked_asm};
use core::ffi::c_void;
use core::sync::atomic::AtomicU64;

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

/// Which of the words of two lines may be this one: a bit for each of the first line's, then of the second's. Those whose high halves are
/// the same. A word that others are just writing may be missed.
///
/// # Safety
/// Lines are aligned to 16 bytes.
#[inline(always)]
pub unsafe fn words_like(first: &[AtomicU64; 8], second: &[AtomicU64; 8], word: u64) -> u32 {
    let found;
    // SAFETY: reads both lines, which others may write to meanwhile: by assembly, because the language has no atomics of this size.
    // The processor reads in order, and the compiler leaves what comes after this after it.
    unsafe {
        asm!(
            "movq {word_x}, {word}",
            "pshufd {word_x}, {word_x}, 0x55",
            // The high halves of four words each.
            "movaps {a}, [{first}]",
            "movaps {b}, [{first} + 32]",
            "movaps {c}, [{second}]",
            "movaps {d}, [{second} + 32]",
            "shufps {a}, [{first} + 16], 0xdd",
            "shufps {b}, [{first} + 48], 0xdd",
            "shufps {c}, [{second} + 16], 0xdd",
            "shufps {d}, [{second} + 48], 0xdd",
            "pcmpeqd {a}, {word_x}",
            "pcmpeqd {b}, {word_x}",
            "pcmpeqd {c}, {word_x}",
            "pcmpeqd {d}, {word_x}",
            "packssdw {a}, {b}",
            "packssdw {c}, {d}",
            "packsswb {a}, {c}",
            "pmovmskb {found:e}, {a}",
            word = in(reg) word,
            first = in(reg) first,
            second = in(reg) second,
            word_x = out(xmm_reg) _,
            a = out(xmm_reg) _,
            b = out(xmm_reg) _,
            c = out(xmm_reg) _,
            d = out(xmm_reg) _,
            found = lateout(reg) found,
            options(nostack, preserves_flags),
        );
    }
    found
}

/// A byte of a line's last word, by a number below 8.
#[inline(always)]
pub fn byte_of_last(line: &[AtomicU64; 8], index: usize) -> u64 {
    let byte: u32;
    // SAFETY: one read inside the line. By assembly because the language has no atomic bytes of atomic words.
    unsafe {
        asm!("movzx {:e}, byte ptr [{} + {} + 56]", lateout(reg) byte, in(reg) line, in(reg) index & 7, options(nostack, preserves_flags));
    }
    byte.into()
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
        asm!(
            // A few words are copied before the processor has begun to repeat.
            "cmp rcx, 128",
            "ja 4f",
            "2:",
            "sub rcx, 8",
            "jb 3f",
            "mov {word}, [rsi]",
            "mov [rdi], {word}",
            "add rsi, 8",
            "add rdi, 8",
            "jmp 2b",
            "3:",
            "add rcx, 8",
            "jz 5f",
            "4:",
            "rep movsb",
            "5:",
            word = out(reg) _,
            inout("rcx") n => _,
            inout("rdi") to => _,
            inout("rsi") from => _,
            options(nostack),
        );
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
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [r9], rsp",
        "mov r12, rdx",
        "mov r13, rcx",
        "mov r14, r8",
        // clone(flags, stack, parent's word, child's word, thread pointer)
        "mov r10, rdx",
        "xor edx, edx",
        "xor r8d, r8d",
        "mov eax, 56",
        "syscall",
        "test rax, rax",
        "js 4f",
        "jz 5f",
        "mov rbx, rax",
        "2:",
        "cmp dword ptr [r12], 2",
        "jne 3f",
        // futex(word, FUTEX_WAIT, 2, no timeout)
        "mov rdi, r12",
        "xor esi, esi",
        "mov edx, 2",
        "xor r10d, r10d",
        "mov eax, 202",
        "syscall",
        "jmp 2b",
        "3:",
        "mov rax, rbx",
        "4:",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
        "5:",
        "xor ebp, ebp",
        "mov rdi, r14",
        "call r13",
        "ud2",
    )
}

/// Whether the processor checks returns against a second stack: a copy of the process could not return from there.
pub fn has_shadow_stack() -> bool {
    const ARCH_SHSTK_STATUS: usize = 0x5005;
    let mut features = 0_u64;
    let number = linux_raw_sys::general::__NR_arch_prctl;
    // SAFETY: writes one word.
    let result = unsafe { system_call(number, [ARCH_SHSTK_STATUS, (&raw mut features).addr(), 0, 0, 0, 0]) };
    result == 0 && features & 1 != 0
}

/// Returns `value` from the [`clone_and_wait`] that put `stack` there.
///
/// # Safety
/// Only in a copy of the process that was made while it waited.
#[unsafe(naked)]
pub unsafe extern "C" fn return_from(stack: usize, value: isize) -> ! {
    naked_asm!("mov rsp, rdi", "mov rax, rsi", "pop r15", "pop r14", "pop r13", "pop r12", "pop rbx", "pop rbp", "ret",)
}

/// Makes a system call at an address that a filter can tell: the one that a call without arguments (null) returns.
///
/// # Safety
/// As [`system_call`].
#[unsafe(naked)]
pub unsafe extern "C" fn gate(number: usize, a: *const [usize; 6]) -> isize {
    naked_asm!(
        "test rsi, rsi",
        "jz 3f",
        "mov rax, rdi",
        "mov r11, rsi",
        "mov rdi, [r11]",
        "mov rsi, [r11 + 8]",
        "mov rdx, [r11 + 16]",
        "mov r10, [r11 + 24]",
        "mov r8, [r11 + 32]",
        "mov r9, [r11 + 40]",
        "syscall",
        "2:",
        "ret",
        "3:",
        "lea rax, [rip + 2b]",
        "ret",
    )
}

/// Where a signal handler returns to.
#[unsafe(naked)]
pub unsafe extern "C" fn end_of_handler() {
    naked_asm!("mov eax, 15", "syscall")
}

/// Where the kernel's `ucontext` has the arguments of a system call, and where its result is expected.
const ARGUMENTS: [usize; 6] = [104, 112, 136, 56, 40, 48];
const RESULT: usize = 144;

/// The arguments of the system call at which a signal came.
///
/// # Safety
/// `context` is what a signal handler was given.
pub unsafe fn trapped_arguments(context: *mut c_void) -> [usize; 6] {
    // SAFETY: the caller's promise; words of the structure.
    ARGUMENTS.map(|at| unsafe { context.byte_add(at).cast::<usize>().read() })
}

/// What that system call is to give.
///
/// # Safety
/// As [`trapped_arguments`].
pub unsafe fn set_trapped_result(context: *mut c_void, result: isize) {
    // SAFETY: the caller's promise.
    unsafe { context.byte_add(RESULT).cast::<isize>().write(result) };
}

/// How many registers tables for unwinding know: the general ones, and one for the return address. By DWARF's numbers, as below.
pub const UNWIND_REGISTERS: usize = 17;
/// The stack pointer.
pub const UNWIND_STACK: usize = 7;
/// The frame pointer, where a function has one.
const UNWIND_FRAME: usize = 6;

/// Where the kernel's `ucontext` has them.
const TRAPPED: [usize; UNWIND_REGISTERS] =
    [144, 136, 152, 128, 112, 104, 120, 160, 40, 48, 56, 64, 72, 80, 88, 96, 168];

/// The registers at the place where a signal came.
///
/// # Safety
/// As [`trapped_arguments`].
pub unsafe fn trapped_registers(context: *const c_void) -> Registers {
    // SAFETY: the caller's promise; words of the structure.
    let values = TRAPPED.map(|at| unsafe { context.byte_add(at).cast::<usize>().read() });
    let [.., pc] = values;
    Registers::new(pc, values)
}

/// The registers of a caller that tell the way, when a call returns to it: frame pointer, place, stack pointer.
#[derive(Clone, Copy)]
pub struct Caller([usize; 3]);

impl Caller {
    pub fn registers(self) -> Registers {
        let Caller([frame, pc, stack]) = self;
        Registers::at(pc).with(UNWIND_FRAME, frame).with(UNWIND_STACK, stack)
    }
}

/// Whoever called the function into which this is inlined. That function has a frame pointer, as for [`callers_frame`].
#[inline(always)]
pub fn caller() -> Caller {
    let (frame, pc, stack): (usize, usize, usize);
    // SAFETY: reads what the function itself put there, and what its caller did.
    unsafe {
        asm!(
            "mov {frame}, [rbp]",
            "mov {pc}, [rbp + 8]",
            "lea {stack}, [rbp + 16]",
            frame = out(reg) frame,
            pc = out(reg) pc,
            stack = out(reg) stack,
            options(nostack, preserves_flags, readonly),
        );
    }
    Caller([frame, pc, stack])
}

/// Makes registers at the entry of a function those of its caller, where the call returns to. `read` gives words of memory.
pub fn return_at_entry(registers: &mut Registers, read: impl FnOnce(usize) -> Option<usize>) -> bool {
    let Some(stack) = registers.get(UNWIND_STACK) else { return false };
    let Some(pc) = read(stack) else { return false };
    registers.pc = pc;
    registers.set(UNWIND_STACK, Some(stack.wrapping_add(8)));
    true
}

/// Which signals are blocked when a signal handler has returned: a word of what it was given.
pub const TRAPPED_MASK: usize = 296;

/// What seccomp calls this architecture.
pub const AUDIT: u32 = 0xc000_003e;
