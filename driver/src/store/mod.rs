//! What runs leave behind, on disk.
//!
//! [`layout`] says where things lie, [`runs`] makes and lists runs, [`events`] and [`counters`] read what the
//! programs wrote, [`pack`] puts many counter files into one, [`merge`] adds the counters of many processes up, [`manifests`] keeps what the pass said about
//! each module, [`seen`] reads and carries the states that tests have seen. Nothing here knows what a counter means: that is `study`.

pub mod access;
pub mod attached;
pub mod binary;
pub mod code;
pub mod counters;
pub mod deps;
pub mod events;
pub mod layout;
pub mod manifests;
pub mod merge;
pub mod module_id;
pub mod pack;
pub mod problem;
pub mod runs;
pub mod seen;
mod steady;
pub mod tallies;

pub use layout::{Store, StoreError};
pub use module_id::ModuleId;
pub use problem::{Fault, Problem};
pub use runs::Run;
