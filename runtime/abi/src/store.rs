//! Names in the store that the runtime and the driver must both know. The rest of its layout is the driver's.

/// Directory of all runs, in the store.
pub const RUNS: &str = "runs";
/// Directory of the seen sets, in the store: a file per build, named by the id of its manifest.
pub const SEEN: &str = "seen";
/// What follows the id in the name of a directory beside a seen set: in it are sets that were imported ([`crate::seen::exported`]), each
/// named by its checksum. A process of the build takes them over into its set when it starts, and removes them then. What begins with a
/// dot is not finished.
pub const IMPORTS: &str = ".import";
/// Directory of attached tests that are under way, in a run's directory: one in it for each, in which it may write.
pub const TESTS: &str = "tests";
