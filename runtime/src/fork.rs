//! After `fork` the child gets counter files of its own, and whoever else asks is told.
//!
//! libc calls our handlers in the child, before the program goes on there. Children that libc does not announce (`vfork`,
//! `posix_spawn`, `_Fork`, plain `clone`) go on with their parent's files, and so do those of programs without libc:
//! their coverage counts as their parent's, nothing is lost.

use crate::confinement::Confinement;
use crate::{cover, modules, run, weak};
use core::sync::atomic::{AtomicBool, Ordering};

/// What is called in each new child.
pub struct Handler {
    child: extern "C" fn(),
    is_watching: AtomicBool,
}

impl Handler {
    pub const fn new(child: extern "C" fn()) -> Handler {
        Handler { child, is_watching: AtomicBool::new(false) }
    }

    /// Asks libc to tell us about children, once.
    pub fn watch(&self) {
        if self.is_watching.swap(true, Ordering::SeqCst) {
            return;
        }
        // SAFETY: libc's own functions, called as documented. A failure (no memory) means that children share.
        unsafe {
            if let Some(register) = weak::register_atfork() {
                register(None, None, Some(self.child), weak::dso_handle());
            } else if let Some(register) = weak::pthread_atfork() {
                register(None, None, Some(self.child));
            }
        }
    }
}

/// For counters.
pub static COUNTERS: Handler = Handler::new(child);

extern "C" fn child() {
    modules::after_fork();
    let Some(run) = run::decided() else { return };
    if modules::any_recording() && !run.start.may_be_tightened(Confinement::now()) {
        cover::enter_again(run);
    }
}
