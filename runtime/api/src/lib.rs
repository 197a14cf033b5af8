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

/// Attaches a test to a function, the unit: `unseen::attach!(unit, test);`.
///
/// The test takes what the unit takes, and tells whether all is well: it returns `true`, or nothing. It may call the unit, and
/// everything else. In a program built with `--unseen=state` it runs when the unit is called in a state that no test has seen, with the
/// unit's arguments, before the unit does anything, in a copy of the process: nothing it does reaches the program. A test that returns
/// `false`, panics, aborts or exits has failed. Built by plain cargo, or without a store (`UNSEEN_DIR`), it never runs.
///
/// ```
/// pub fn area(width: u32, height: u32) -> u32 {
///     width * height
/// }
///
/// fn area_is_symmetric(width: u32, height: u32) -> bool {
///     area(width, height) == area(height, width)
/// }
///
/// unseen::attach!(area, area_is_symmetric);
/// ```
///
/// Both are paths: of a function, a method, or an instance of a generic one. A unit may have several tests. A test that does not fit its
/// unit ends the link.
///
/// `unseen::attach!(unit, test, after);` runs the test when the unit returns: it also takes what the unit returned, behind the
/// arguments (a reference to it where that is large).
#[macro_export]
macro_rules! attach {
    ($unit:path, $test:path $(,)?) => {
        $crate::attach!(@ $unit, $test as *const (), 0);
    };
    ($unit:path, $test:path, after $(,)?) => {
        $crate::attach!(@ $unit, $test as *const (), 1);
    };
    (@ $unit:path, $test:expr, $kind:literal) => {
        const _: () = {
            #[used]
            #[cfg_attr(target_os = "linux", unsafe(link_section = "unseen_tests"))]
            static ATTACHED: $crate::Attached = $crate::Attached::new($unit as *const (), $test, $kind);
        };
    };
}

/// Asks of a function that it does the same whenever it is called in the same state: `unseen::deterministic!(unit);`.
///
/// It is called twice from the same state, each time in a copy of the process, and has failed if it returns something else the second
/// time, or leaves something else in what it may write.
#[macro_export]
macro_rules! deterministic {
    ($unit:path $(,)?) => {
        $crate::attach!(@ $unit, ::core::ptr::null(), 2);
    };
}

/// Attaches a function that is no test: `unseen::rescue!(unit, handler);`.
///
/// In a program that is only watched (`UNSEEN_POLICY=watch`, with a seen set from the lab) it is called before the unit, with its
/// arguments, in the program itself, when the unit is called in a state outside that set. While states are collected (any other policy) it is
/// never called.
#[macro_export]
macro_rules! rescue {
    ($unit:path, $handler:path $(,)?) => {
        $crate::attach!(@ $unit, $handler as *const (), 3);
    };
}

/// Attaches the function below, a test, to the function `of`, its unit: the same as [`attach!`].
///
/// ```
/// pub fn area(width: u32, height: u32) -> u32 {
///     width * height
/// }
///
/// #[unseen::test(of = area)]
/// fn area_is_symmetric(width: u32, height: u32) -> bool {
///     area(width, height) == area(height, width)
/// }
///
/// #[unseen::test(of = area, after)]
/// fn area_can_be_divided(width: u32, _height: u32, area: u32) -> bool {
///     width == 0 || area % width == 0
/// }
/// ```
pub use unseen_attribute::test;

/// What these macros leave for the compiler: as `unseen_abi::state::Descriptor`.
#[doc(hidden)]
#[repr(C)]
pub struct Attached {
    unit: *const (),
    name: *const u8,
    test: *const (),
    kind: u64,
}

// SAFETY: constants, which nobody reads at run time.
unsafe impl Sync for Attached {}

impl Attached {
    #[doc(hidden)]
    pub const fn new(unit: *const (), test: *const (), kind: u64) -> Attached {
        Attached { unit, name: core::ptr::null(), test, kind }
    }
}
