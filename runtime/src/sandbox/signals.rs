//! Signals: masks, handlers, stacks for handlers.

use crate::arch;
use crate::sys::call;
use core::ffi::c_void;
use linux_raw_sys::general as k;

/// A set of signals.
pub type Mask = u64;

const SIZE: usize = size_of::<Mask>();

/// What the kernel knows of a handler: address, flags, where it returns to, what is blocked meanwhile.
pub type Action = [usize; 4];

/// The default.
pub const DEFAULT: Action = [0; 4];

/// Blocks all signals. Gives what was blocked before.
pub fn block_all() -> Option<Mask> {
    let all = Mask::MAX;
    let mut before: Mask = 0;
    let how = k::SIG_SETMASK as usize;
    let arguments = [how, (&raw const all).addr(), (&raw mut before).addr(), SIZE, 0, 0];
    // SAFETY: reads and writes a set.
    unsafe { call(k::__NR_rt_sigprocmask, arguments) }.ok().map(|_| before)
}

/// These signals are blocked from now on, and no others.
pub fn set_mask(mask: Mask) {
    let arguments = [k::SIG_SETMASK as usize, (&raw const mask).addr(), 0, SIZE, 0, 0];
    // SAFETY: reads a set.
    let _ = unsafe { call(k::__NR_rt_sigprocmask, arguments) };
}

/// Waits for one of the signals, not longer than that.
pub fn wait(mask: Mask, nanoseconds: u64) {
    let time = [nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000];
    let arguments = [(&raw const mask).addr(), 0, time.as_ptr().addr(), SIZE, 0, 0];
    // SAFETY: reads a set and a timespec, which is two words.
    let _ = unsafe { call(k::__NR_rt_sigtimedwait, arguments) };
}

/// The set with one signal.
pub const fn only(signal: u32) -> Mask {
    1 << (signal - 1)
}

/// What is done about a signal now.
pub fn action(signal: u32) -> Action {
    let mut before = DEFAULT;
    let arguments = [signal as usize, 0, before.as_mut_ptr().addr(), SIZE, 0, 0];
    // SAFETY: writes the structure.
    let _ = unsafe { call(k::__NR_rt_sigaction, arguments) };
    before
}

/// Sets what is done about a signal.
pub fn set_action(signal: u32, action: &Action) {
    let arguments = [signal as usize, action.as_ptr().addr(), 0, SIZE, 0, 0];
    // SAFETY: reads the structure.
    let _ = unsafe { call(k::__NR_rt_sigaction, arguments) };
}

/// A handler of ours.
pub type Handler = unsafe extern "C" fn(u32, *const u8, *mut c_void);

/// The action that calls it.
pub fn handle(handler: Handler, flags: u32) -> Action {
    let flags = flags | k::SA_SIGINFO | k::SA_RESTORER;
    [handler as *const () as usize, flags as usize, arch::end_of_handler as *const () as usize, 0]
}

/// What kills with a copy of all memory, for others to look at.
pub const FAULTS: [u32; 5] = [k::SIGSEGV, k::SIGBUS, k::SIGFPE, k::SIGILL, k::SIGTRAP];

/// A stack for handlers: address, flags, size.
pub type Stack = [usize; 3];

/// The one of this thread.
pub fn alternate_stack() -> Stack {
    let mut stack = [0, k::SS_DISABLE as usize, 0];
    // SAFETY: writes the structure.
    let _ = unsafe { call(k::__NR_sigaltstack, [0, stack.as_mut_ptr().addr(), 0, 0, 0, 0]) };
    stack
}

/// Sets the one of this thread.
pub fn set_alternate_stack(stack: Stack) {
    let [address, flags, size] = stack;
    // That it is in use right now is not for us to say.
    let stack = [address, flags & !(k::SS_ONSTACK as usize), size];
    // SAFETY: reads the structure.
    let _ = unsafe { call(k::__NR_sigaltstack, [stack.as_ptr().addr(), 0, 0, 0, 0, 0]) };
}
