//! Whole states: each gets a number, and no two the same. In: the words of a state, and a hash of them. Out: its number and the file's, by
//! which it can be put into a seen set: whoever removes the file makes all states new.
//!
//! A file as those of the seen set ([`memory`](super::memory)). Its first lines are heads of lists, one of which the hash chooses; a state is
//! a record in the lines behind, of which [`taken`](Whole::taken) tells how many are used:
//!
//! ```text
//! the number of the record that was there before, or 0 | how many words | both words of the hash | the words
//! ```
//!
//! A record is whole before it is put into its list. Whoever dies before that leaves lines that nobody reads. If two put the same state in
//! at once, the second finds it when he looks at what came before him.

use super::Refused;
use super::memory::Memory;
use core::ffi::CStr;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use unseen_abi::seen::{FIRST_LINES, LINE, LINE_WORDS, LINES_OFFSET, WHOLE_SUFFIX, WholeStates};

/// Words of a record before the state.
const HEAD: u64 = 4;
/// How many lists there are.
const LISTS: u64 = FIRST_LINES * LINE_WORDS as u64;

/// The states.
pub struct Whole {
    memory: Memory<WholeStates>,
    /// The most lines; 0: no limit.
    most: u64,
}

impl Whole {
    /// Opens the file of a build, or makes it. It gets no larger than `most` bytes, if that is not 0.
    pub fn open(path: &CStr, id: &[u8; 16], most: u64) -> Result<Whole, Refused> {
        let most = most.saturating_sub(LINES_OFFSET as u64) / LINE as u64;
        Ok(Whole { memory: Memory::open(path, WHOLE_SUFFIX, id, most)?, most })
    }

    /// Where its memory lies, and how much it is.
    pub fn span(&self) -> (usize, usize) {
        self.memory.span()
    }

    /// What a state is called; none if there is no room for another.
    pub fn name(&self, hash: u128, words: &[u64]) -> Option<u128> {
        self.number(hash, words).map(|number| u128::from(self.memory.nonce()) << 64 | u128::from(number))
    }

    /// The number of a state in this file.
    pub(super) fn number(&self, hash: u128, words: &[u64]) -> Option<u64> {
        let hash = [hash as u64, (hash >> 64) as u64];
        let list = self.word(hash[0] % LISTS);
        let mut first = list.load(Acquire);
        if let Some(found) = self.find(first, 0, hash, words) {
            return Some(found);
        }
        let new = self.take(HEAD + words.len() as u64)?;
        let at = new * LINE_WORDS as u64;
        let record = [first, words.len() as u64, hash[0], hash[1]];
        for (i, word) in (at..).zip(record.iter().chain(words)) {
            self.word(i).store(*word, Relaxed);
        }
        while let Err(newer) = list.compare_exchange(first, new, Release, Acquire) {
            if let Some(found) = self.find(newer, first, hash, words) {
                return Some(found);
            }
            first = newer;
            self.word(at).store(first, Relaxed);
        }
        Some(new)
    }

    /// How many lines are used behind those of the lists.
    fn taken(&self) -> &AtomicU64 {
        // Nobody else counts in such a file.
        &self.memory.header().counts[0].states
    }

    /// A word of the lines, below those that are used.
    fn word(&self, index: u64) -> &AtomicU64 {
        self.memory.line(index / LINE_WORDS as u64).word((index % LINE_WORDS as u64) as usize)
    }

    /// The end of the lines that are used, as far as they can be used here.
    fn end(&self) -> u64 {
        FIRST_LINES.saturating_add(self.taken().load(Acquire)).min(self.memory.largest >> 1)
    }

    /// Looks for a state in a list, from one record to another, which is not looked at.
    fn find(&self, mut record: u64, stop: u64, hash: [u64; 2], words: &[u64]) -> Option<u64> {
        let end = self.end();
        // A list that was damaged may have no end.
        for _ in FIRST_LINES..end {
            if record == stop || !(FIRST_LINES..end).contains(&record) {
                return None;
            }
            let at = record * LINE_WORDS as u64;
            let [length, low, high] = [1, 2, 3].map(|i| self.word(at + i).load(Relaxed));
            let fits = length == words.len() as u64 && lines(HEAD + length) <= end - record;
            if fits
                && hash == [low, high]
                && (at + HEAD..).zip(words).all(|(i, word)| self.word(i).load(Relaxed) == *word)
            {
                return Some(record);
            }
            record = self.word(at).load(Relaxed);
        }
        None
    }

    /// Takes lines for so many words.
    fn take(&self, words: u64) -> Option<u64> {
        let (wanted, header) = (lines(words), self.memory.header());
        let most = if self.most == 0 { self.memory.largest >> 1 } else { self.most.min(self.memory.largest >> 1) };
        loop {
            let taken = self.taken().load(SeqCst);
            let start = FIRST_LINES.checked_add(taken)?;
            let end = start.checked_add(wanted).filter(|end| *end <= most)?;
            if end > header.room.load(SeqCst) {
                self.memory.make_room(end, most);
                if end > header.room.load(SeqCst) {
                    return None;
                }
            }
            if self.taken().compare_exchange(taken, taken + wanted, SeqCst, SeqCst).is_ok() {
                // A record there already means that the file is damaged: its number must not get another state.
                let at = start * LINE_WORDS as u64;
                return (at..at + HEAD).all(|i| self.word(i).load(Relaxed) == 0).then_some(start);
            }
        }
    }
}

/// How many lines so many words need.
fn lines(words: u64) -> u64 {
    words.div_ceil(LINE_WORDS as u64)
}
