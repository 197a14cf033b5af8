//! A library of both kinds: rustc links programs with the rlib, unless they prefer the dylib.

/// The larger one.
pub fn larger(a: i32, b: i32) -> i32 {
    if a > b { a } else { b }
}
