//! Carries a plan out: one file per mechanism. Nothing is decided here.

pub mod access;
pub mod cover;
pub mod off;
pub mod state;

use crate::llvm::Function;

/// In debug builds: every function is valid LLVM after the step of that name.
pub fn verify(functions: &[Function], step: &str) {
    if cfg!(debug_assertions) {
        for function in functions.iter().filter(|f| !f.is_declaration()) {
            assert!(function.is_valid(), "{} is no valid function after step {step}", function.name());
        }
    }
}
