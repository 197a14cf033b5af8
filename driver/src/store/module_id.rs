//! The name of a module: a hash of its manifest, the same in the binary, its counter files and the store.

use std::fmt;

/// A module's id; prints as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleId(pub [u8; 16]);

impl ModuleId {
    /// From 32 hexadecimal digits.
    pub fn parse(text: &str) -> Option<ModuleId> {
        let is_hex = text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        is_hex.then(|| u128::from_str_radix(text, 16).ok()).flatten().map(|n| ModuleId(n.to_be_bytes()))
    }
}

impl fmt::Display for ModuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for ModuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
