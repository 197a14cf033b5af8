//! Whether the program has locked itself in since it started.
//!
//! A seccomp filter may kill for any system call it does not know. The calls made when a program starts are made under
//! the filters it was started with, which let a loader open and map files. But a server may put on a tighter one and
//! then fork, or load a plug-in, and our calls must not be its death. There is no way to ask that makes no system call;
//! the smallest question is `prctl`, which such filters mostly allow (libc uses it for thread names), before any
//! `openat`. The answers of the start are kept:
//!
//! * no filter then, none now: free;
//! * none then, one now: confined. A fork goes on with its parent's counters, a plug-in is not recorded;
//! * one then and now (a container): whether one was added can't be seen, but to add one a process without
//!   `CAP_SYS_ADMIN` must set `no_new_privs`, and libraries set it always. If that is unset now as then: free. If it was
//!   set since: confined. If it was set all the time nobody can tell; then a fork, which loses nothing by it, is
//!   taken as confined, and a module, which would lose everything, as free: the loader that calls its constructor
//!   has just opened and mapped a file.
//!
//! What remains: a filter that allows `fork` and kills for `prctl`. For such programs there is `UNSEEN_COVER=off`.

use crate::sys;

/// What a process is under.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Confinement {
    filtered: bool,
    no_new_privileges: bool,
}

impl Confinement {
    /// Under nothing.
    pub const NONE: Confinement = Confinement { filtered: false, no_new_privileges: false };

    /// What this process is under now.
    pub fn now() -> Confinement {
        // An error means a kernel without seccomp.
        let filtered = sys::seccomp_mode().is_ok_and(|mode| mode != 0);
        Confinement { filtered, no_new_privileges: filtered && sys::no_new_privileges() != Ok(0) }
    }

    /// Whether a filter was certainly added since `self` was taken.
    pub fn was_tightened(self, now: Confinement) -> bool {
        now.filtered && (!self.filtered || (!self.no_new_privileges && now.no_new_privileges))
    }

    /// Whether a filter was added since `self` was taken, or nobody can tell.
    pub fn may_be_tightened(self, now: Confinement) -> bool {
        now.filtered && (!self.filtered || now.no_new_privileges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_filters_are_noticed_or_feared() {
        let under = |filtered, no_new_privileges| Confinement { filtered, no_new_privileges };
        let (free, container, hardened) = (under(false, false), under(true, false), under(true, true));
        for (start, now, was, may_be) in [
            (free, free, false, false),
            (free, container, true, true),
            (free, hardened, true, true),
            (container, container, false, false),
            (container, hardened, true, true),
            (hardened, hardened, false, true),
        ] {
            assert_eq!((start.was_tightened(now), start.may_be_tightened(now)), (was, may_be), "{start:?} {now:?}");
        }
    }
}
