//! A seen set on its way from one store to another: one file with all states of a build. `unseen seen export` writes it; the runtime takes
//! it over into its own set ([`crate::store::IMPORTS`]). In: keys, or bytes. Out: bytes, or keys.
//!
//! ```text
//! magic "UNSEENSX" | version u32 | version of the set u32 | build, 16 bytes | narrow states u64 | wide states u64 | checksum u64 | 0 u64
//! narrow states: test u32, state u64
//! wide states:   test u32, state u128
//! ```
//!
//! All numbers little-endian. Both lists ascend, and nothing is in them twice: of one set there is one file. The checksum is over all
//! other bytes.

use super::{A, Narrow, Wide, stir};

/// First bytes of every such file.
pub const MAGIC: [u8; 8] = *b"UNSEENSX";
/// Version of this layout.
pub const VERSION: u32 = 1;
/// Bytes before the states.
pub const HEAD: usize = 64;
/// Bytes of a narrow state.
pub const NARROW: usize = 12;
/// Bytes of a wide state.
pub const WIDE: usize = 20;
/// Where the checksum is.
const CHECKSUM: core::ops::Range<usize> = 48..56;

/// Why bytes are not such a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Something else.
    Foreign,
    /// Of that version.
    Version(u32),
    /// From a set of that version, which may name states differently.
    SetVersion(u32),
    /// It ends too early.
    Cut { have: u64, want: u64 },
    /// Its checksum is wrong, or its lengths, or its order.
    Damaged,
}

/// What the file begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// The build.
    pub id: [u8; 16],
    /// How many narrow states there are.
    pub narrow: u64,
    /// How many wide ones.
    pub wide: u64,
    pub checksum: u64,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}

impl Head {
    /// Looks at the first bytes of a file of that length.
    pub fn read(bytes: &[u8; HEAD], length: u64) -> Result<Head, Fault> {
        if !bytes.starts_with(&MAGIC) {
            return Err(Fault::Foreign);
        }
        let (version, set) = (u32_at(bytes, 8), u32_at(bytes, 12));
        if version != VERSION {
            return Err(Fault::Version(version));
        }
        if set != super::VERSION {
            return Err(Fault::SetVersion(set));
        }
        let mut id = [0; 16];
        id.copy_from_slice(&bytes[16..32]);
        let head =
            Head { id, narrow: u64_at(bytes, 32), wide: u64_at(bytes, 40), checksum: u64_at(bytes, CHECKSUM.start) };
        match head.length() {
            Some(want) if want == length => Ok(head),
            Some(want) if want > length => Err(Fault::Cut { have: length, want }),
            _ => Err(Fault::Damaged),
        }
    }

    /// Where the wide states begin.
    pub fn wide_start(&self) -> Option<u64> {
        self.narrow.checked_mul(NARROW as u64)?.checked_add(HEAD as u64)
    }

    /// Where they end, and the file.
    pub fn length(&self) -> Option<u64> {
        self.wide.checked_mul(WIDE as u64)?.checked_add(self.wide_start()?)
    }
}

/// A narrow state, as it is in the file.
pub fn narrow(bytes: &[u8; NARROW]) -> Narrow {
    Narrow { unit: u32_at(bytes, 0), state: u64_at(bytes, 4) }
}

/// A wide state, as it is in the file.
pub fn wide(bytes: &[u8; WIDE]) -> Wide {
    Wide { unit: u32_at(bytes, 0), state: u128::from(u64_at(bytes, 4)) | u128::from(u64_at(bytes, 12)) << 64 }
}

/// The checksum while it is being made. Each step is a bijection: that one word is another always shows.
pub struct Checksum(u64);

impl Checksum {
    /// Of a file that begins like that.
    pub fn new(head: &[u8; HEAD]) -> Checksum {
        let mut head = *head;
        head[CHECKSUM].fill(0);
        let mut sum = Checksum(A);
        sum.add(&head);
        sum
    }

    /// Goes on with these bytes: a number of them that eight divides, but for the last.
    pub fn add(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            self.word(rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        }
    }

    fn word(&mut self, word: u64) {
        self.0 = stir(self.0 ^ word).wrapping_add(A);
    }

    pub fn value(&self) -> u64 {
        self.0
    }
}

#[cfg(any(feature = "std", test))]
mod states;
#[cfg(any(feature = "std", test))]
pub use states::States;
