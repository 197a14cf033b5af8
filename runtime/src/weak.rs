//! What the runtime asks of a libc if there is one: weak symbols, null where nobody defines them.
//!
//! A weak reference does not pull a member out of a static libc: what is missing there is also what the program
//! can't be using (glibc's `fork` brings `__register_atfork`).

use crate::arch::address_of_weak;
use core::ffi::{c_char, c_int, c_void};

/// A handler for `fork`.
pub type Handler = extern "C" fn();
/// glibc: `int __register_atfork(prepare, parent, child, dso_handle)`.
pub type RegisterAtfork =
    unsafe extern "C" fn(Option<Handler>, Option<Handler>, Option<Handler>, *const c_void) -> c_int;
/// POSIX: `int pthread_atfork(prepare, parent, child)`.
pub type PthreadAtfork = unsafe extern "C" fn(Option<Handler>, Option<Handler>, Option<Handler>) -> c_int;

core::arch::global_asm!(".weak __dso_handle", ".hidden __dso_handle");

/// The program's environment, `char **__environ`.
pub fn environ() -> Option<*const *const c_char> {
    let place = address_of_weak!("__environ").cast::<*const *const c_char>();
    // SAFETY: if the symbol exists it is libc's variable of this type; a word-sized read can't tear.
    (!place.is_null()).then(|| unsafe { place.read_volatile() }).filter(|environ| !environ.is_null())
}

/// Whether the program has one thread, by the word of a libc that knows (`char __libc_single_threaded`).
pub fn has_one_thread() -> bool {
    let place = address_of_weak!("__libc_single_threaded").cast::<u8>();
    // SAFETY: if the symbol exists it is libc's variable of this type, which only this thread could change to what is asked here.
    !place.is_null() && unsafe { place.read_volatile() } != 0
}

/// glibc's way to register fork handlers.
pub fn register_atfork() -> Option<RegisterAtfork> {
    let address = address_of_weak!("__register_atfork");
    // SAFETY: null is None; otherwise the function of that name has this type.
    unsafe { core::mem::transmute::<*const (), Option<RegisterAtfork>>(address) }
}

/// Everybody else's way to register fork handlers.
pub fn pthread_atfork() -> Option<PthreadAtfork> {
    let address = address_of_weak!("pthread_atfork");
    // SAFETY: null is None; otherwise the function of that name has this type.
    unsafe { core::mem::transmute::<*const (), Option<PthreadAtfork>>(address) }
}

/// The value that names the executable or shared object we are linked into, for libc's lists of handlers.
pub fn dso_handle() -> *const c_void {
    let place = address_of_weak!("__dso_handle").cast::<*const c_void>();
    if place.is_null() {
        return core::ptr::null();
    }
    // SAFETY: the C start-up files define it as one pointer that never changes.
    unsafe { *place }
}
