//! After `fork` the child gets counter files of its own.
//!
//! libc calls our handler in the child, before the program goes on there. Children that libc does not announce (`vfork`,
//! `posix_spawn`, `_Fork`, plain `clone`) go on with their parent's files, and so do those of programs without libc:
//! their coverage counts as their parent's, nothing is lost.

use crate::confinement::Confinement;
use crate::{access, cover, modules, run, weak};
use core::sync::atomic::{AtomicBool, Ordering};

static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// Asks libc to tell us about children, once.
pub fn watch() {
    if IS_WATCHED.swap(true, Ordering::SeqCst) {
        return;
    }
    // SAFETY: libc's own functions, called as documented. A failure (no memory) means that children share.
    unsafe {
        if let Some(register) = weak::register_atfork() {
            register(None, None, Some(child), weak::dso_handle());
        } else if let Some(register) = weak::pthread_atfork() {
            register(None, None, Some(child));
        }
    }
}

extern "C" fn child() {
    access::after_fork();
    modules::after_fork();
    let Some(run) = run::decided() else { return };
    if modules::any_recording() && !run.start.may_be_tightened(Confinement::now()) {
        cover::enter_again(run);
    }
}
