//! The runtime that rides in every instrumented program.
//!
//! In: calls of the hooks ([`hooks`], listed in `unseen_abi::hooks`) from module constructors, destructors and
//! `unseen.h`; the `UNSEEN_*` environment. Out: counter files and event records in the run's directory.
//!
//! It is a guest in somebody's process, so it needs and touches nothing of the program: no libc (raw system calls
//! in [`sys`]; the few libc symbols it looks at are weak, [`weak`]), no allocator ([`arena`], [`scratch`]), no
//! `errno`, no locks, no thread-local storage, hardly any stack, no file descriptor that stays open. What fails is
//! dropped, and said so in the event log if that can be written.
//!
//! The way of a module: [`hooks`] → [`run`] (is anything to be recorded, and where) → [`modules`] (who is there) →
//! [`cover`] (its counter file) → [`sink`] (the event log); [`fork`] does the last two again in children.
//!
//! # Parts
//!
//! The archive has three objects, each from a build of this crate: the basic part, and [`access`] and [`state`], which only programs have
//! that are built with the one or have tests for the other. Each leaves out the others' hooks (`unseen_part`), and has its own copy of
//! the code that they share. What is tested is the whole crate. A fourth part, which no program has, is the [`sandbox`] with entry points
//! for its tests ([`trial`]).
//!
//! # Several runtimes in one process
//!
//! An executable and the shared objects it loads are linked separately, and each brings this runtime. The hooks are
//! global symbols of default visibility, so that the dynamic linker binds all of them to the first definition in
//! its search order, and one runtime serves the process. For this the executable must export its hooks, which a linker
//! does by itself only if a shared object on the same command line refers to them. So whoever links an executable that
//! can load shared objects passes, for each hook, `-Wl,--export-dynamic-symbol=SYMBOL`.
//!
//! Where a shared object hides its copy (a version script with `local: *`, `-Bsymbolic`, `RTLD_DEEPBIND`, `RTLD_LOCAL`
//! in a host without Unseen, `dlmopen`), that copy serves the modules whose constructors are bound to it, and no
//! others. Nothing breaks: all state belongs to one copy, each module is known to exactly one, each copy watches forks
//! for its own modules, file names are claimed with `O_EXCL`, and event records are single appends. What one copy does
//! not know, it can't tell: `active` and `cover_reset` answer for the copy that the caller is bound to.
//!
//! The fork handler is registered under the `__dso_handle` of the object that carries this copy, so that libc forgets it
//! when that object is unloaded.

// With std where tests are built and looked at: what they share with the pass needs it.
#![cfg_attr(not(any(test, clippy)), no_std)]

#[cfg(not(any(unseen_part = "basic", unseen_part = "state", unseen_part = "trial")))]
mod access;
#[cfg_attr(target_arch = "x86_64", path = "arch/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "arch/aarch64.rs")]
mod arch;
mod arena;
mod confinement;
mod cover;
#[cfg(not(unseen_part = "trial"))]
mod define;
mod environment;
mod fork;
#[cfg(not(any(unseen_part = "access", unseen_part = "state", unseen_part = "trial")))]
mod hooks;
#[cfg(not(any(unseen_part = "basic", unseen_part = "access", unseen_part = "trial")))]
mod list;
mod maps;
#[cfg(not(test))]
mod mem;
#[cfg(not(any(unseen_part = "basic", unseen_part = "trial")))]
mod memory;
mod modules;
mod process;
mod registers;
mod run;
#[cfg(not(any(unseen_part = "basic", unseen_part = "access")))]
mod sandbox;
mod scratch;
#[cfg(not(any(unseen_part = "basic", unseen_part = "access", unseen_part = "trial")))]
mod seen;
mod sink;
#[cfg(not(any(unseen_part = "basic", unseen_part = "access", unseen_part = "trial")))]
mod state;
mod sys;
mod tallies;
mod text;
#[cfg(not(any(unseen_part = "basic", unseen_part = "access", unseen_part = "state")))]
mod trial;
#[cfg(not(any(unseen_part = "basic", unseen_part = "access")))]
mod unwind;
mod weak;

/// Nothing here may panic, and the link proves it: this handler calls a function that does not exist, and the build
/// of the runtime object fails if anything reaches it (`scripts/build-runtime`).
#[cfg(not(any(test, clippy)))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        fn __unseen_the_runtime_can_panic() -> !;
    }
    // SAFETY: never called, see above.
    unsafe { __unseen_the_runtime_can_panic() }
}
