//! Which functions are left alone, and why.

use crate::llvm::Function;
use crate::options::Options;
use unseen_abi::manifest::Reason;
use unseen_abi::mechanism::Mechanisms;
use unseen_abi::sections::SYMBOL_PREFIX;

/// Whether a symbol belongs to us: such functions are not the program's.
pub fn is_ours(name: &str) -> bool {
    name.starts_with(SYMBOL_PREFIX)
}

/// Why a function of the program, defined in the file at `path`, is left alone.
pub fn reason_to_leave(function: Function, path: Option<&str>, options: &Options) -> Option<Reason> {
    if function.is_declaration() {
        return Some(Reason::External);
    }
    if function.is_inline_copy() {
        return Some(Reason::InlineCopy);
    }
    if function.has_attribute("naked") {
        return Some(Reason::Naked);
    }
    if function.has_attribute("nosanitize_coverage") || function.has_attribute("noprofile") {
        return Some(Reason::Attribute);
    }
    if options.mechanisms == Mechanisms::default() {
        return Some(Reason::NoMechanism);
    }
    let path = path?;
    if options.exclude.is_match(path) {
        return Some(Reason::Configured);
    }
    (!options.standard && is_standard(path)).then_some(Reason::Standard)
}

/// Whether a file belongs to the language's own library.
fn is_standard(path: &str) -> bool {
    path.starts_with("/rustc/")
        || path.starts_with("/rust/deps/")
        || path.contains("/lib/rustlib/src/rust/library/")
        || path.starts_with("/usr/include/")
        || path.starts_with("/usr/lib/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_libraries_are_known_by_their_paths() {
        for path in [
            "/rustc/59807616e1/library/core/src/option.rs",
            "/rust/deps/hashbrown-0.16.1/src/raw.rs",
            "/home/u/.rustup/toolchains/stable/lib/rustlib/src/rust/library/alloc/src/vec.rs",
            "/usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/bits/stl_vector.h",
            "/usr/include/stdio.h",
        ] {
            assert!(is_standard(path), "{path}");
        }
        for path in ["/home/u/rustc/main.rs", "/src/usr/include/a.h", "lib.rs"] {
            assert!(!is_standard(path), "{path}");
        }
    }

    #[test]
    fn our_own_symbols_are_not_the_programs() {
        assert!(is_ours("__unseen_abi_v1") && !is_ours("unseen_abi") && !is_ours("_unseen"));
    }
}
