//! Names of sections in the programs we build.

/// Manifests: one after another, each as [`crate::manifest`] encodes it. Not loaded at run time.
/// Written by the pass (`emit`), once per program, or once per translation unit without LTO; the linker
/// concatenates. Read by the driver.
pub const MANIFEST: &str = ".unseen.manifest";

/// Dependency sets: one record after another, each as [`crate::deps`] encodes it, and belonging to the manifest with
/// the same id. Not loaded at run time. Written by the pass (`emit`); read by the driver.
pub const DEPS: &str = ".unseen.deps";

/// Where watched instructions come from: one record after another, each as [`crate::access::Sites`] encodes it. Not loaded at run
/// time. Written by the pass (`emit`) with the mechanism `access`; read by the driver.
pub const SITES: &str = ".unseen.sites";

/// What went into the link, as lines of text (see [`INPUT_KINDS`]). Not loaded at run time.
/// Written by the driver as a small object of its own in every link; read by the driver.
pub const INPUTS: &str = ".unseen.inputs";

/// Why compile steps were declined: NUL-terminated lines `source: reason`. Not loaded at run time.
/// Written by the driver into native objects of declined steps; the linker concatenates; read by the driver.
pub const DECLINED: &str = ".unseen.declined";

/// First word of a line in [`INPUTS`]: `bitcode PATH`, `unit PATH` (native code that was instrumented while it was
/// compiled), `native PATH`, `library PATH`, `flag TEXT`. Empty lines mean nothing.
pub const INPUT_KINDS: [&str; 5] = ["bitcode", "unit", "native", "library", "flag"];

/// Prefix of every symbol that belongs to us: never instrumented, never listed as the program's.
pub const SYMBOL_PREFIX: &str = "__unseen_";
