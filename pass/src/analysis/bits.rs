//! Sets of small numbers, a bit each.

/// A set of numbers below the size that it was made with.
#[derive(Debug, Clone)]
pub struct Bits(Vec<u64>);

impl Bits {
    pub fn none(size: usize) -> Bits {
        Bits(vec![0; size.div_ceil(64)])
    }

    pub fn all(size: usize) -> Bits {
        Bits(vec![u64::MAX; size.div_ceil(64)])
    }

    pub fn has(&self, bit: usize) -> bool {
        self.0[bit / 64] >> (bit % 64) & 1 == 1
    }

    /// Returns whether it is new.
    pub fn insert(&mut self, bit: usize) -> bool {
        let (word, bit) = (&mut self.0[bit / 64], 1 << (bit % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    pub fn remove(&mut self, bit: usize) {
        self.0[bit / 64] &= !(1 << (bit % 64));
    }

    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Adds another set of the same size. Returns whether anything came.
    pub fn add_all(&mut self, other: &Bits) -> bool {
        self.each(other, |mine, theirs| mine | theirs)
    }

    /// Keeps what is also in another set of the same size. Returns whether anything went.
    pub fn keep_all(&mut self, other: &Bits) -> bool {
        self.each(other, |mine, theirs| mine & theirs)
    }

    fn each(&mut self, other: &Bits, join: impl Fn(u64, u64) -> u64) -> bool {
        let mut changed = false;
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            let joined = join(*word, *other);
            changed |= joined != *word;
            *word = joined;
        }
        changed
    }
}
