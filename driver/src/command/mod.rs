//! One file per command of `unseen`: arguments, and a `run` that returns an exit code.
//!
//! Exit codes: 0 fine, 1 findings, 2 usage, 3 environment, 70 internal.

pub mod demo;
pub mod deps;
mod destination;
pub mod doctor;
pub mod failure;
pub mod install;
pub mod manifest;
pub mod options;
pub mod report;
pub mod run;
pub mod seen;
pub mod tests;
pub mod units;
pub mod verify;

use destination::Destination;
pub use failure::{Failure, Outcome};
