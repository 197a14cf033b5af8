//! Bytes behind a pointer: where dependency sets ([`crate::deps`]) and the form of them that programs carry ([`crate::access`])
//! say the same.

/// Where behind a pointer, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum Offset {
    /// One place; may be negative.
    At(i64),
    /// `at + k * stride` for every whole k, negative ones too, as far as the object goes. `0 <= at < stride`.
    Every { stride: u64, at: u64 },
}

/// How far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum Extent {
    /// That many bytes.
    Bytes(u64),
    /// Up to a zero byte, that byte included.
    Text,
    /// From here to the end of the object.
    Rest,
    /// All of the object, also what lies before.
    Object,
    /// `scale` bytes times a parameter's value (unsigned).
    ByParam { param: u32, scale: u64 },
    /// `scale` bytes times the little-endian unsigned value of `size` bytes at that place at entry.
    ByMemory { path: u32, at: i64, size: u64, scale: u64 },
}

/// Bytes behind a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Place {
    /// The number of the path.
    pub path: u32,
    pub offset: Offset,
    pub extent: Extent,
}
