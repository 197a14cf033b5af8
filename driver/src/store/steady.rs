//! Reading files that programs have mapped and are writing to. In: a file of lines, as a seen set is. Out: its bytes, in which no line is half
//! old and half new.
//!
//! A slot of a seen set can be emptied and filled again while its line is read. What is read then may look like a state that nobody ever
//! met, and whose test would never run. So everything is read twice, and lines that were not the same both times again, until they
//! are. A line that never is counts as empty: what it held is forgotten, and tested again.
//!
//! Lines are read in the order in which they lie. A state that is on its way is copied to a line behind the old one, or to the file of
//! wide states, before it is taken out: whoever reads in this order, and that file last, finds it in one of them.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use unseen_abi::seen::{LINE, LINES_OFFSET};

/// How much is read at once; whole lines.
const CHUNK: usize = 1 << 20;
/// How often a line that changes is read again.
const ATTEMPTS: usize = 16;

/// Reads a file to its end.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    read_by(|to, at| file.read_at(to, at))
}

/// The same by any function that reads at a place and tells how many bytes it got.
fn read_by(mut read_at: impl FnMut(&mut [u8], u64) -> io::Result<usize>) -> io::Result<Vec<u8>> {
    let mut fill = |to: &mut [u8], at: usize| -> io::Result<usize> {
        let mut have = 0;
        while have < to.len() {
            match read_at(&mut to[have..], (at + have) as u64) {
                Ok(0) => break,
                Ok(n) => have += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(have)
    };
    let (mut all, mut first, mut second) = (Vec::new(), vec![0; CHUNK], vec![0; CHUNK]);
    loop {
        let at = all.len();
        let have = fill(&mut first, at)?;
        let again = fill(&mut second[..have], at)?;
        let lines = first[..again].chunks_mut(LINE).zip(second[..again].chunks_mut(LINE));
        for (i, (line, other)) in lines.enumerate() {
            let start = at + i * LINE;
            // What the header counts may change all the time.
            let mut attempts = if start < LINES_OFFSET { 0 } else { ATTEMPTS };
            while line != other && attempts > 0 {
                line.copy_from_slice(other);
                let have = fill(other, start)?;
                other[have..].fill(0);
                attempts -= 1;
            }
            if line != other && start >= LINES_OFFSET {
                line.fill(0);
            }
        }
        all.extend(&first[..again]);
        if again < CHUNK {
            return Ok(all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unseen_abi::seen::file::{Seen, make};
    use unseen_abi::seen::{Narrow, NarrowFormat};

    const ID: [u8; 16] = [7; 16];

    fn file(states: std::ops::Range<u64>) -> Vec<u8> {
        let keys: Vec<_> = states.map(|state| Narrow { unit: 1, state }).collect();
        make::<NarrowFormat>(ID, 1, &keys).0
    }

    fn keys(bytes: &[u8]) -> Vec<Narrow> {
        Seen::read::<NarrowFormat>(bytes).unwrap().keys::<NarrowFormat>().collect()
    }

    /// Reads from bytes, in pieces of odd sizes.
    fn from(bytes: &[u8], to: &mut [u8], at: u64) -> usize {
        let rest = &bytes[(at as usize).min(bytes.len())..];
        let n = rest.len().min(to.len()).min(100_001);
        to[..n].copy_from_slice(&rest[..n]);
        n
    }

    #[test]
    fn a_file_that_nobody_writes_is_read_as_it_is() {
        for length in [0, 1, LINES_OFFSET, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 77] {
            let bytes: Vec<u8> = (0..length).map(|i| ((i * i) >> 7) as u8).collect();
            assert!(read_by(|to, at| Ok(from(&bytes, to, at))).unwrap() == bytes, "{length}");
        }
    }

    #[test]
    fn half_of_each_of_two_states_is_never_read() {
        let (old, new) = (file(0..40_000), file(40_000..80_000));
        // The first time all words of a line are old, and all fields new.
        let mut torn = old.clone();
        for (line, new) in torn.chunks_mut(LINE).zip(new.chunks(LINE)).skip(LINES_OFFSET / LINE) {
            line[56..].copy_from_slice(&new[56..]);
        }
        let invented = |bytes: &[u8]| keys(bytes).iter().filter(|k| k.unit != 1 || k.state >= 80_000).count();
        assert!(invented(&torn) > 1000, "otherwise this tests nothing");
        let mut calls = 0;
        let read = read_by(|to, at| {
            calls += 1;
            Ok(from(if calls < 5 { &torn } else { &new }, to, at))
        });
        let read = read.unwrap();
        assert_eq!(invented(&read), 0);
        assert!(read == new, "and all that is there in the end is");
    }

    #[test]
    fn a_line_that_changes_all_the_time_is_empty() {
        let good = file(0..1000);
        let busy = good.chunks(LINE).position(|l| l[56] & 1 != 0).filter(|l| *l >= LINES_OFFSET / LINE).unwrap();
        let mut calls = 0_u8;
        let read = read_by(|to, at| {
            calls = calls.wrapping_add(1);
            let mut bytes = good.clone();
            bytes[busy * LINE] = calls;
            Ok(from(&bytes, to, at))
        });
        let read = read.unwrap();
        assert_eq!(read.len(), good.len());
        assert!(read[busy * LINE..][..LINE].iter().all(|b| *b == 0));
        assert!(keys(&read).iter().all(|k| k.unit == 1 && k.state < 1000));
    }

    #[test]
    fn a_file_that_grows_is_read_as_far_as_it_goes() {
        let (small, large) = (file(0..10), file(0..200_000));
        assert!(large.len() > 2 * CHUNK);
        let mut calls = 0;
        let read = read_by(|to, at| {
            calls += 1;
            Ok(from(if calls < 3 { &small } else { &large }, to, at))
        });
        let found = keys(&read.unwrap());
        assert!(found.len() > 190_000 && found == keys(&large));
    }
}
