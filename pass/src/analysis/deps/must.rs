//! Bytes that were certainly written since entry. A name of one entry object means the same address throughout the call, so
//! what was written there stays written: reading it again tells nothing of the state before the call.

use super::paths::Base;

/// How many ranges are kept; forgetting one only makes sets larger.
const RANGES: usize = 256;

/// Ranges of bytes, sorted, apart from each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written(Vec<(Base, i64, i64)>);

impl Written {
    pub const fn new() -> Written {
        Written(Vec::new())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (Base, i64, i64)> + '_ {
        self.0.iter().copied()
    }

    /// Adds `length` bytes at an offset.
    pub fn add(&mut self, base: Base, at: i64, length: u64) {
        let Some(mut end) = i64::try_from(length).ok().and_then(|n| at.checked_add(n)) else { return };
        let mut start = at;
        if start == end {
            return;
        }
        self.0.retain(|&(b, from, to)| {
            let touches = b == base && from <= end && start <= to;
            if touches {
                (start, end) = (start.min(from), end.max(to));
            }
            !touches
        });
        if self.0.len() < RANGES {
            let place = self.0.partition_point(|r| *r < (base, start, end));
            self.0.insert(place, (base, start, end));
        }
    }

    /// Whether `length` bytes at an offset are all written.
    pub fn covers(&self, base: Base, at: i64, length: u64) -> bool {
        let Some(end) = i64::try_from(length).ok().and_then(|n| at.checked_add(n)) else { return false };
        self.0.iter().any(|&(b, from, to)| b == base && from <= at && end <= to)
    }

    /// What is in both.
    pub fn meet(&mut self, other: &Written) {
        let mut both = Vec::new();
        for &(base, from, to) in &self.0 {
            let first = other.0.partition_point(|r| (r.0, r.2) <= (base, from));
            for &(b, start, end) in &other.0[first..] {
                if b != base || start >= to {
                    break;
                }
                both.push((base, from.max(start), to.min(end)));
            }
        }
        self.0 = both;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(w: &Written) -> Vec<(u32, i64)> {
        w.iter().flat_map(|(b, from, to)| (from..to).map(move |i| (b.0, i))).collect()
    }

    proptest! {
        #[test]
        fn ranges_are_sets_of_bytes(
            a in proptest::collection::vec((0u32..3, -8i64..8, 0u64..6), 0..8),
            b in proptest::collection::vec((0u32..3, -8i64..8, 0u64..6), 0..8),
        ) {
            let make = |list: &[(u32, i64, u64)]| {
                let mut w = Written::default();
                let mut all = std::collections::BTreeSet::new();
                for &(base, at, n) in list {
                    w.add(Base(base), at, n);
                    all.extend((at..at + n as i64).map(|i| (base, i)));
                }
                (w, all)
            };
            let ((mut x, left), (y, right)) = (make(&a), make(&b));
            prop_assert_eq!(bytes(&x), left.iter().copied().collect::<Vec<_>>());
            for base in 0..3 {
                for at in -9..9 {
                    let inside = (at..at + 3).all(|i| left.contains(&(base, i)));
                    prop_assert_eq!(x.covers(Base(base), at, 3), inside);
                }
            }
            x.meet(&y);
            prop_assert_eq!(bytes(&x), left.intersection(&right).copied().collect::<Vec<_>>());
        }
    }
}
