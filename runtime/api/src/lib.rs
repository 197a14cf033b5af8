//! What Rust programs can say to Unseen.
//!
//! A program does not need this crate to be built with `cargo unseen build`. It is for programs that want to know
//! whether they are being recorded, or to say from where on coverage counts:
//!
//! ```
//! # fn load_everything() {}
//! # fn serve() {}
//! load_everything();
//! unseen::cover_reset(); // only what is served counts, not what is loaded
//! serve();
//! ```
//!
//! Built by plain cargo, every function here is empty and vanishes. Built with Unseen (which passes `--cfg unseen`) it
//! calls the runtime, if the program was linked with it. No feature has to be chosen, and `no_std` programs can
//! use it.

#![no_std]

#[cfg(all(unseen, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod hook;

/// Without Unseen there are no hooks.
#[cfg(not(all(unseen, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod hook {
    pub fn active() -> Option<i32> {
        None
    }

    pub fn cover_reset() -> Option<()> {
        None
    }
}

/// Whether this process is being recorded right now.
///
/// `false` in a program built without Unseen, under `UNSEEN=off`, without a store (`UNSEEN_DIR`), and where the store
/// can't be written. May be called from anywhere, signal handlers included.
///
/// ```
/// if unseen::active() {
///     eprintln!("this run is being recorded");
/// }
/// ```
#[inline]
#[must_use]
pub fn active() -> bool {
    hook::active().is_some_and(|active| active != 0)
}

/// Forgets what this process has covered so far.
///
/// A program calls it after the part that should not count (start-up, loading). What its parent process and other
/// processes of the run have covered stays. May be called from anywhere, signal handlers included.
#[inline]
pub fn cover_reset() {
    let _ = hook::cover_reset();
}
