//! All states of a build, for the driver. In: keys in any order, or a file. Out: the file, or keys.

use super::{Checksum, Fault, HEAD, Head, MAGIC, NARROW, VERSION, WIDE, narrow, wide};
use crate::seen::{self, Narrow, Wide};
use std::fmt;

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Foreign => write!(f, "not an exported seen set"),
            Fault::Version(v) => write!(f, "an exported seen set of version {v}, this is version {VERSION}"),
            Fault::SetVersion(v) => {
                write!(f, "exported from a seen set of version {v}, this is version {}", seen::VERSION)
            }
            Fault::Cut { have, want } => write!(f, "cut short: it has {have} of {want} bytes"),
            Fault::Damaged => write!(f, "damaged: its checksum or its order is wrong"),
        }
    }
}

impl std::error::Error for Fault {}

/// The states: in order, each once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct States {
    /// The build.
    pub id: [u8; 16],
    narrow: Vec<Narrow>,
    wide: Vec<Wide>,
}

impl States {
    /// From keys in any order, some of which may come more than once.
    pub fn new(id: [u8; 16], mut narrow: Vec<Narrow>, mut wide: Vec<Wide>) -> States {
        narrow.sort_unstable();
        narrow.dedup();
        wide.sort_unstable();
        wide.dedup();
        States { id, narrow, wide }
    }

    pub fn narrow(&self) -> &[Narrow] {
        &self.narrow
    }

    pub fn wide(&self) -> &[Wide] {
        &self.wide
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.narrow.len() + self.wide.len()
    }

    /// These and those of another set, which must be of the same build.
    #[must_use]
    pub fn union(mut self, other: States) -> States {
        debug_assert_eq!(self.id, other.id);
        self.narrow.extend(other.narrow);
        self.wide.extend(other.wide);
        States::new(self.id, self.narrow, self.wide)
    }

    /// These without those of another set.
    #[must_use]
    pub fn without(mut self, other: &States) -> States {
        self.narrow.retain(|key| other.narrow.binary_search(key).is_err());
        self.wide.retain(|key| other.wide.binary_search(key).is_err());
        self
    }

    /// The same in parts of at most so many states.
    pub fn parts(&self, most: usize) -> impl Iterator<Item = States> {
        let narrow = self.narrow.chunks(most).map(|part| (part.to_vec(), Vec::new()));
        let wide = self.wide.chunks(most).map(|part| (Vec::new(), part.to_vec()));
        narrow.chain(wide).map(|(narrow, wide)| States { id: self.id, narrow, wide })
    }

    /// The file, and its checksum.
    pub fn encode(&self) -> (Vec<u8>, u64) {
        let mut bytes = Vec::with_capacity(HEAD + self.narrow.len() * NARROW + self.wide.len() * WIDE);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(seen::VERSION.to_le_bytes());
        bytes.extend(self.id);
        bytes.extend((self.narrow.len() as u64).to_le_bytes());
        bytes.extend((self.wide.len() as u64).to_le_bytes());
        bytes.resize(HEAD, 0);
        for key in &self.narrow {
            bytes.extend(key.unit.to_le_bytes());
            bytes.extend(key.state.to_le_bytes());
        }
        for key in &self.wide {
            bytes.extend(key.unit.to_le_bytes());
            bytes.extend(key.state.to_le_bytes());
        }
        let checksum = checksum(&bytes);
        bytes[super::CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
        (bytes, checksum)
    }

    /// Reads a file.
    pub fn decode(bytes: &[u8]) -> Result<States, Fault> {
        let length = bytes.len() as u64;
        let head = match bytes.first_chunk::<HEAD>() {
            Some(head) => Head::read(head, length)?,
            None if !bytes.is_empty() && bytes.iter().zip(MAGIC).all(|(a, b)| *a == b) => {
                return Err(Fault::Cut { have: length, want: HEAD as u64 });
            }
            None => return Err(Fault::Foreign),
        };
        if checksum(bytes) != head.checksum {
            return Err(Fault::Damaged);
        }
        let start = head.wide_start().ok_or(Fault::Damaged)? as usize;
        let narrow: Vec<Narrow> = bytes[HEAD..start].as_chunks().0.iter().map(narrow).collect();
        let wide: Vec<Wide> = bytes[start..].as_chunks().0.iter().map(wide).collect();
        if !narrow.is_sorted_by(|a, b| a < b) || !wide.is_sorted_by(|a, b| a < b) {
            return Err(Fault::Damaged);
        }
        Ok(States { id: head.id, narrow, wide })
    }
}

/// Of a file that has its head.
fn checksum(bytes: &[u8]) -> u64 {
    let Some((head, states)) = bytes.split_first_chunk() else { return 0 };
    let mut sum = Checksum::new(head);
    sum.add(states);
    sum.value()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: [u8; 16] = *b"the build's id..";

    fn some() -> States {
        let narrow = (0..9).map(|i| Narrow { unit: i % 2, state: u64::MAX - u64::from(i) }).collect();
        let wide = (0..5).map(|i| Wide { unit: 7, state: u128::MAX - i }).collect();
        States::new(ID, narrow, wide)
    }

    #[test]
    fn what_was_written_is_read() {
        for states in [some(), States::new(ID, Vec::new(), Vec::new())] {
            let (bytes, checksum) = states.encode();
            assert_eq!(bytes.len(), HEAD + states.narrow.len() * NARROW + states.wide.len() * WIDE);
            assert_eq!(States::decode(&bytes), Ok(states));
            assert_eq!(bytes[48..56], checksum.to_le_bytes());
        }
    }

    #[test]
    fn any_changed_byte_and_any_other_length_is_refused() {
        let good = some().encode().0;
        for at in 0..good.len() {
            for change in [1, 0x80] {
                let mut bytes = good.clone();
                bytes[at] ^= change;
                assert!(States::decode(&bytes).is_err(), "byte {at}");
            }
        }
        for length in 1..good.len() {
            let want = if length < HEAD { HEAD } else { good.len() } as u64;
            assert_eq!(States::decode(&good[..length]), Err(Fault::Cut { have: length as u64, want }));
        }
        assert_eq!(States::decode(&[&good[..], &[0]].concat()), Err(Fault::Damaged));
        assert_eq!(States::decode(b""), Err(Fault::Foreign));
        assert_eq!(States::decode(&[b'x'; 100]), Err(Fault::Foreign));
    }

    #[test]
    fn other_versions_are_named() {
        let mut bytes = some().encode().0;
        bytes[12] = 77;
        assert_eq!(States::decode(&bytes), Err(Fault::SetVersion(77)));
        bytes[8] = 9;
        assert_eq!(States::decode(&bytes), Err(Fault::Version(9)));
    }

    #[test]
    fn numbers_that_are_too_large_are_no_length() {
        let mut bytes = some().encode().0;
        for at in [32, 40] {
            bytes[at..at + 8].fill(0xff);
            assert_eq!(States::decode(&bytes), Err(Fault::Damaged));
        }
    }

    #[test]
    fn states_out_of_order_are_refused_though_the_checksum_is_right() {
        let mut states = some();
        states.narrow.swap(0, 1);
        assert_eq!(States::decode(&states.encode().0), Err(Fault::Damaged));
        let mut states = some();
        states.wide[1] = states.wide[0];
        assert_eq!(States::decode(&states.encode().0), Err(Fault::Damaged));
    }
}
