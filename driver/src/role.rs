//! The names beside `unseen` that this binary goes by, and what it is then. `scripts/build` and `unseen install` make the links.

use std::process::ExitCode;

use crate::wrap::{binutils, cargo, clang, rustc};

/// What one name does; it is told the name.
type Play = fn(&str) -> ExitCode;

/// All of them. CMake takes `unseen-` for the prefix of a toolchain and looks for LLVM's tools under it, before it takes
/// those of any LLVM on the PATH.
pub const ROLES: &[(&str, Play)] = &[
    ("unseen-clang", |_| clang::main(clang::Language::C)),
    ("unseen-clang++", |_| clang::main(clang::Language::Cpp)),
    ("unseen-rustc", |_| rustc::main()),
    ("cargo-unseen", |_| cargo::main()),
    ("unseen-ar", binutils::main),
    ("unseen-ranlib", binutils::main),
    ("unseen-nm", binutils::main),
    ("unseen-strip", binutils::main),
    ("unseen-llvm-ar", binutils::main),
    ("unseen-llvm-ranlib", binutils::main),
    ("unseen-llvm-nm", binutils::main),
    ("unseen-llvm-strip", binutils::main),
];

/// Their names.
pub fn names() -> impl Iterator<Item = &'static str> {
    ROLES.iter().map(|(name, _)| *name)
}
