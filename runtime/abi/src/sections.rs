//! Names of sections in the programs we build. None is loaded at run time: tools that strip programs are asked to leave them.

macro_rules! sections {
    ($($(#[$doc:meta])* $name:ident $text:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = $text;)*

        /// All of them.
        pub const ALL: &[&str] = &[$($name),*];
    };
}

sections! {
    /// Manifests: one after another, each as [`crate::manifest`] encodes it. Written by the pass (`emit`), once per program, or
    /// once per translation unit without LTO; the linker concatenates. Read by the driver.
    MANIFEST ".unseen.manifest";
    /// Dependency sets: one record after another, each as [`crate::deps`] encodes it, and belonging to the manifest with
    /// the same id. Written by the pass (`emit`); read by the driver.
    DEPS ".unseen.deps";
    /// Where watched instructions come from: one record after another, each as [`crate::access::Sites`] encodes it. Written by
    /// the pass (`emit`) with the mechanism `access`; read by the driver.
    SITES ".unseen.sites";
    /// Which tests are attached to which units: one record after another, each as [`crate::state::Attachments`] encodes it. Written by
    /// the pass (`emit`) with the mechanism `state`; read by the driver.
    UNITS ".unseen.units";
    /// What went into the link, as lines of text (see [`INPUT_KINDS`]). Written by the driver as a small object of its own in
    /// every link; read by the driver.
    INPUTS ".unseen.inputs";
    /// Why compile steps were declined: NUL-terminated lines `source: reason`. Written by the driver into native objects of
    /// declined steps; the linker concatenates; read by the driver.
    DECLINED ".unseen.declined";
}

/// First word of a line in [`INPUTS`]: `bitcode PATH`, `unit PATH` (native code that was instrumented while it was
/// compiled), `native PATH`, `library PATH`, `flag TEXT`. Empty lines mean nothing.
pub const INPUT_KINDS: [&str; 5] = ["bitcode", "unit", "native", "library", "flag"];

/// Prefix of every symbol that belongs to us: never instrumented, never listed as the program's.
pub const SYMBOL_PREFIX: &str = "__unseen_";
/// The runtime's crates begin so, in Rust's mangled names too.
pub const RUNTIME_CRATE: &str = "unseen_rt";
