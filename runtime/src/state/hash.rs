//! A hash of 128 bits over words: two lanes, each a multiplication whose halves are put together.

use super::words::Words;

const A: u64 = 0x9e37_79b9_7f4a_7c15;
const B: u64 = 0xd6e8_feb8_6659_fd93;
const C: u64 = 0xa076_1d64_78bd_642f;
const D: u64 = 0xe703_7ed1_a0b4_28db;

/// What was hashed so far.
pub struct Hash<'a> {
    a: u64,
    b: u64,
    count: u64,
    /// Who gets the words, too.
    copy: Option<&'a mut Words>,
}

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

impl<'a> Hash<'a> {
    pub fn new() -> Hash<'a> {
        Hash::with_copy(None)
    }

    pub fn with_copy(copy: Option<&'a mut Words>) -> Hash<'a> {
        Hash { a: C, b: D, count: 0, copy }
    }

    /// Adds a word.
    pub fn word(&mut self, word: u64) {
        // A lane that met a product of 0 goes on from the other one.
        let (a, b) = (self.a, self.b);
        self.a = fold(a ^ word ^ C, A).wrapping_add(b);
        self.b = fold(b.rotate_left(23) ^ word.wrapping_mul(B) ^ D, B) ^ a.rotate_left(41);
        self.count = self.count.wrapping_add(1);
        if let Some(copy) = &mut self.copy {
            copy.add(word);
        }
    }

    /// The hash.
    pub fn finish(&self) -> u128 {
        let a = fold(self.a ^ self.count.wrapping_mul(A), B);
        let b = fold(self.b ^ a ^ D, A | 1);
        u128::from(fold(a ^ self.b, C)) << 64 | u128::from(fold(b ^ self.a, D))
    }
}

/// The hash of a few words.
pub fn of(words: &[u64]) -> u128 {
    let mut hash = Hash::new();
    words.iter().for_each(|w| hash.word(*w));
    hash.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn small_differences_give_other_hashes_in_both_halves() {
        let (mut low, mut high, mut all) = (HashSet::new(), HashSet::new(), 0);
        for length in 0..6 {
            for position in 0..length.max(1) {
                for value in 0..4096_u64 {
                    let mut words = vec![0; length];
                    if let Some(word) = words.get_mut(position) {
                        *word = if value < 64 { 1 << value } else { value };
                    }
                    if all == 0 || words.iter().any(|w| *w != 0) {
                        if value >= 64 && value.is_power_of_two() {
                            continue;
                        }
                        let hash = of(&words);
                        all += 1;
                        low.insert(hash as u64);
                        high.insert((hash >> 64) as u64);
                    }
                }
            }
        }
        assert!(all > 50_000);
        assert_eq!((low.len(), high.len()), (all, all));
    }

    #[test]
    fn order_and_length_count() {
        assert_ne!(of(&[1, 2]), of(&[2, 1]));
        assert_ne!(of(&[0]), of(&[0, 0]));
        assert_ne!(of(&[]), of(&[0]));
    }

    #[test]
    fn a_bit_changes_half_of_them() {
        let mut changed = 0;
        for bit in 0..64 {
            changed += (of(&[7, 9 ^ 1 << bit, 3]) ^ of(&[7, 9, 3])).count_ones();
        }
        assert!((60 * 64..68 * 64).contains(&changed), "{changed}");
    }
}
