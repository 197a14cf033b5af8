//! What the pass, the runtime and the driver agree on, in one place.
//!
//! The pass writes names and layouts from here into programs, the runtime answers to them inside the
//! programs, the driver reads what both leave behind. This crate knows nothing else: no dependency, no
//! allocation (except behind the feature `std`, for the pass and the driver), no system call.

#![cfg_attr(not(any(feature = "std", test)), no_std)]

pub mod access;
#[cfg(any(feature = "std", test))]
mod codec;
pub mod counters;
#[cfg(any(feature = "std", test))]
pub mod deps;
pub mod event;
pub mod hooks;
#[cfg(any(feature = "std", test))]
pub mod manifest;
pub mod mechanism;
#[cfg(any(feature = "std", test))]
pub mod models;
pub mod module;
pub mod options;
mod place;
#[cfg(any(feature = "std", test))]
pub mod records;
pub mod returns;
pub mod sections;
pub mod seen;
pub mod sets;
pub mod state;
pub mod store;
pub mod tallies;

/// Version of everything in this crate that is compiled into programs.
///
/// The module constructor calls the hook [`hooks::ENTER`], whose symbol carries this number: a runtime of
/// another version does not define it, and the link fails instead of the program.
pub const ABI_VERSION: u32 = 1;

const _: () = {
    // The hook's name must be changed together with the version.
    let name = hooks::ENTER.symbol.as_bytes();
    assert!(name[name.len() - 1] as u32 - '0' as u32 == ABI_VERSION);
};
