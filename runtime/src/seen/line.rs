//! A line of the seen set: how a state is found in it, put in and taken out, while others do the same.
//!
//! A slot goes through these steps, each of them one atomic write:
//!
//! 1. empty: its first word and its field are 0
//! 2. claimed: the first word is set, by whoever changed it from 0. The rest is his alone. He may die here: the slot is lost
//! 3. taken: the field is set, with the bit that says so. What it holds counts from here on
//! 4. gone: the first word is [`GONE`], by whoever changed it from what it was. He may die here, too. He sets the field to 0, and then
//! 5. the slot is empty again
//!
//! The first word says which state it is; so nobody takes out another state than he has read, however long ago that was.
//!
//! So a slot that counts is whole. Whoever looks for a wide key reads field, words and field again. If the field was the same both times,
//! and yet the words were not those that belong to it, then the slot was emptied and filled again meanwhile, the last time with the
//! same field, and what was read in between (a state with another field, or one word of each of two states) agreed in all words with
//! the state that is looked for. Whoever looks for a narrow key reads the field and then the word, which is one: if they do not belong
//! together, then the slot was emptied after he had read the field, and filled again before he read the word, with another state that has
//! the very same word. Words are mixed, so either comes to less than 2^-64 for each look, if it ever came to such a meeting. The same
//! goes for a slot that is taken from somebody who is just filling it, because it held the very same state before.

use crate::arch::{byte_of_last, words_like};
use core::hint::select_unpredictable;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use unseen_abi::seen::{Format, GONE, LINE, LINE_WORDS, Mixed, OVERFLOW};

/// A line.
#[repr(C, align(64))]
pub struct Line([AtomicU64; LINE_WORDS]);

const _: () = assert!(size_of::<Line>() == LINE);

/// Whether a state was put in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Put {
    Done,
    Full,
}

/// The lowest bits of seven fields.
const EACH: u64 = 0x01_0101_0101_0101;

/// Whether the fields are the bytes of a line's last word, and how far aside a state is begins at their bit 3.
const fn has_bytes<F: Format>() -> bool {
    F::SLOTS == LINE_WORDS - 1 && F::FIELD_BITS == 8 && F::REST_BITS == 2
}

impl Line {
    /// A word, by a number below 8.
    #[inline(always)]
    pub(super) fn word(&self, index: usize) -> &AtomicU64 {
        debug_assert!(index < LINE_WORDS);
        // SAFETY: no number is larger than a line has words.
        unsafe { self.0.get_unchecked(index & (LINE_WORDS - 1)) }
    }

    /// Whether states that were to come here may be elsewhere.
    #[inline(always)]
    pub fn overflows(&self) -> bool {
        self.word(LINE_WORDS - 1).load(Acquire) & OVERFLOW != 0
    }

    /// Sends whoever looks for a state on.
    pub fn set_overflow(&self) {
        if !self.overflows() {
            self.word(LINE_WORDS - 1).fetch_or(OVERFLOW, SeqCst);
        }
    }

    /// Whether a state is in one of its two lines. Never one that can't be stored.
    #[inline(always)]
    pub fn is_in_either<F: Format>(first: &Line, second: &Line, mixed: &Mixed) -> bool {
        if !has_bytes::<F>() {
            return first.has::<F>(mixed, 0) || second.has::<F>(mixed, 1);
        }
        // Without a branch that depends on where it is: a processor that guessed wrong would have to wait for this line before it
        // looked at the next state's. Mostly there is one slot to look at.
        // SAFETY: lines are aligned to their size.
        let mut like = unsafe { words_like(&first.0, &second.0, mixed.words[0]) };
        while like != 0 {
            let i = like.trailing_zeros();
            let line = select_unpredictable(i & 8 == 0, first, second);
            if line.holds(i as usize & 7, F::field(mixed, 0) ^ u64::from(i & 8), mixed) {
                return true;
            }
            like &= like - 1;
        }
        false
    }

    /// Whether a state is here, that much aside. Never one that can't be stored.
    pub fn has<F: Format>(&self, mixed: &Mixed, aside: usize) -> bool {
        let field = F::field(mixed, aside);
        (0..F::SLOTS).any(|slot| self.field::<F>(slot) == field && self.is::<F>(slot, field, mixed))
    }

    /// Whether a slot whose field is a byte holds the state. First the field, then the word: see above.
    #[inline(always)]
    fn holds(&self, slot: usize, field: u64, mixed: &Mixed) -> bool {
        byte_of_last(&self.0, slot) == field && self.word(slot).load(Acquire) == mixed.words[0] && mixed.is_storable()
    }

    /// How many slots are empty.
    pub fn room<F: Format>(&self) -> usize {
        (0..F::SLOTS).filter(|slot| self.field::<F>(*slot) == 0).count()
    }

    #[inline(always)]
    fn field<F: Format>(&self, slot: usize) -> u64 {
        let (word, shift) = F::seat(slot);
        self.word(word).load(Acquire) >> shift & F::FIELD
    }

    /// Whether a slot whose field was right holds the state.
    #[inline(always)]
    fn is<F: Format>(&self, slot: usize, field: u64, mixed: &Mixed) -> bool {
        self.words::<F>(slot) == mixed.words && self.field::<F>(slot) == field && mixed.is_storable()
    }

    #[inline(always)]
    fn words<F: Format>(&self, slot: usize) -> [u64; 2] {
        let first = self.word(slot * F::WORDS).load(Acquire);
        [first, if F::WORDS == 2 { self.word(slot * 2 + 1).load(Acquire) } else { 0 }]
    }

    /// Puts a state into an empty slot.
    #[inline(always)]
    pub fn put<F: Format>(&self, mixed: &Mixed, aside: usize) -> Put {
        if !has_bytes::<F>() {
            let is_put = (0..F::SLOTS).any(|slot| self.put_into::<F>(slot, mixed, aside));
            return if is_put { Put::Done } else { Put::Full };
        }
        // Those whose fields are empty may be claimed already.
        let mut empty = !self.word(LINE_WORDS - 1).load(Acquire) & EACH;
        while empty != 0 {
            if self.put_into::<F>(empty.trailing_zeros() as usize / 8, mixed, aside) {
                return Put::Done;
            }
            empty &= empty - 1;
        }
        Put::Full
    }

    #[inline(always)]
    fn put_into<F: Format>(&self, slot: usize, mixed: &Mixed, aside: usize) -> bool {
        let first = self.word(slot * F::WORDS);
        let is_ours = first.load(Relaxed) == 0 && first.compare_exchange(0, mixed.words[0], SeqCst, Relaxed).is_ok();
        if is_ours {
            self.fill::<F>(slot, mixed, aside);
        }
        is_ours
    }

    /// Finishes a slot that is ours.
    fn fill<F: Format>(&self, slot: usize, mixed: &Mixed, aside: usize) {
        if F::WORDS == 2 {
            self.word(slot * 2 + 1).store(mixed.words[1], Release);
        }
        let (word, shift) = F::seat(slot);
        self.word(word).fetch_or(F::field(mixed, aside) << shift, SeqCst);
    }

    /// Makes a slot ours, if it is taken and still has that first word.
    fn seize<F: Format>(&self, slot: usize, first: u64) -> bool {
        let is_ours = first > GONE && self.word(slot * F::WORDS).compare_exchange(first, GONE, SeqCst, Relaxed).is_ok();
        if is_ours {
            let (word, shift) = F::seat(slot);
            self.word(word).fetch_and(!(F::FIELD << shift), SeqCst);
        }
        is_ours
    }

    /// Puts a state in place of another, which is forgotten.
    pub fn replace<F: Format>(&self, mixed: &Mixed) -> Put {
        // Any will do.
        let slot = (mixed.words[0] >> 32) as usize % F::SLOTS;
        let first = self.words::<F>(slot)[0];
        if self.field::<F>(slot) == 0 || !self.seize::<F>(slot, first) {
            return Put::Full;
        }
        self.word(slot * F::WORDS).store(mixed.words[0], SeqCst);
        self.fill::<F>(slot, mixed, 0);
        Put::Done
    }

    /// Whether a slot may hold a state whose first word has these bits of those.
    #[inline(always)]
    pub fn may_have<F: Format>(&self, slot: usize, bits: u64, mask: u64) -> bool {
        self.word(slot * F::WORDS).load(Acquire) & mask == bits
    }

    /// What a slot of the line with that number holds, and the line it belongs to.
    pub fn get<F: Format>(&self, number: u64, slot: usize) -> Option<(u64, Mixed)> {
        let field = self.field::<F>(slot);
        let words = self.words::<F>(slot);
        let found = F::decode(number, field, words)?;
        (self.field::<F>(slot) == field).then_some(found)
    }

    /// Empties a slot, if it still holds that state.
    pub fn take_out<F: Format>(&self, slot: usize, mixed: &Mixed) {
        if self.seize::<F>(slot, mixed.words[0]) {
            self.word(slot * F::WORDS).store(0, SeqCst);
        }
    }
}
