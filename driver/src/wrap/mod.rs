//! Compilers that behave like the ones they wrap: arguments in, bitcode and instrumented binaries out.

pub mod cargo;
pub mod clang;
pub mod rustc;
