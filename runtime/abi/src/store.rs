//! Names in the store that the runtime and the driver must both know. The rest of its layout is the driver's.

/// Directory of all runs, in the store.
pub const RUNS: &str = "runs";
