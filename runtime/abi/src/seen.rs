//! The seen set's files: which states of which units were met, by any process of one build.
//!
//! Written and read by the runtime, which maps them; read, merged and written by the driver ([`file`](self), with `std`). There
//! are two: one for states of up to 8 bytes ([`Narrow`]) and one for all others ([`Wide`]), which is a file of its own.
//!
//! A file is one page of header, then lines of 64 bytes, each with room for [`Format::SLOTS`] states: their words first, then what
//! is left of each in *fields*. A key is made into a line's number and a slot's contents by a bijection ([`Format::mix`]): what the
//! number tells need not be stored, and nothing is lost. So no two keys are ever taken for each other.
//!
//! # What a slot means
//!
//! The low [`CLASS_BITS`] bits of a line's number are bits of the key (its *class*), whatever the number of lines. A state has two lines and
//! is in the one that had more room, or in yet another if both were full: its field tells in which ([`aside`]). So a slot means the same key at all times: to whoever
//! reads it while the set grows, to whoever was stopped for an hour before he wrote it, after any crash. At worst it is where nobody looks
//! for it: forgotten.
//!
//! # How it grows
//!
//! By 512 lines at a time ([`BATCH`]), so that there are always about as many lines as the states need. Linear hashing, which
//! splits one line after the other, would leave lines of two densities: those that were split, and those with twice as many states. So
//! from [`GROUPED`] lines on, eight lines are a group, and a group gets eight more one by one; each takes its states from all of the
//! eight ([`home`]). The densest line then has 1.22 times as many states as the average line, not twice.

use core::hint::select_unpredictable;
use core::mem::offset_of;

pub mod exported;
#[cfg(any(feature = "std", test))]
pub mod file;

/// First bytes of every such file.
pub const MAGIC: [u8; 8] = *b"UNSEENSS";
/// Version of this layout.
pub const VERSION: u32 = 3;
/// File name extension.
pub const EXTENSION: &str = "seen";
/// What follows the name of the file for narrow keys in that of the file for wide ones.
pub const WIDE_SUFFIX: &str = "-wide";
/// What follows a build's id in the names of the files in which states have the numbers of whole ones, and what follows that for the
/// file with the whole ones.
pub const EXACT_SUFFIX: &str = ".exact";
pub const WHOLE_SUFFIX: &str = "-whole";

/// How many bits of a key its line's number always tells.
pub const CLASS_BITS: u32 = 14;
/// How many lines a new file has.
pub const FIRST_LINES: u64 = 1 << CLASS_BITS;
/// From how many lines on lines are in groups of eight.
pub const GROUPED: u64 = FIRST_LINES << 3;
/// How many lines a file can have: then the bits of a word that choose are used up.
pub const MOST_LINES: u64 = (1 << (CLASS_BITS + 16)) - BATCH;
/// How many lines are added at once. Divides all sizes.
pub const BATCH: u64 = 512;
/// The line that is a state's as much as its own one: the one with that number exclusive-or this, by the state's first word. Among
/// the [`NEAR`] lines around it, which are mostly in one page: looking at both costs little more than looking at one.
#[inline(always)]
pub const fn second(word: u64) -> u64 {
    // Never the same line; the highest bits choose nothing else.
    word >> (64 - NEAR.ilog2()) | 1
}
/// Among so many lines.
const NEAR: u64 = 64;

/// Where a state may be: in the line with its line's number exclusive-or this of 0 or of 1, whichever had more room; if both were
/// full, of 2, then of 3, and so on. First close by, then anywhere among the [`BATCH`] lines around it, each time among other four: a crowd of
/// full lines is left quickly. Of [`BATCH`] numbers each comes once.
pub const fn aside(i: usize, word: u64) -> u64 {
    const FOURS: u64 = BATCH / 4;
    let (i, second) = (i as u64, second(word));
    if i == 1 {
        return second;
    }
    let (round, four) = (i.saturating_sub(4) / (FOURS - 1), i.saturating_sub(4) % (FOURS - 1));
    let other = if i < 4 { i } else { ((four + 1) * 37 % FOURS) << 2 | (round + four) & 3 };
    // It comes in the other's place.
    if other == second { 1 } else { other }
}

/// The first word of a slot that is being emptied. No key is stored whose first word is this, or 0.
pub const GONE: u64 = 1;

/// Bytes of a line.
pub const LINE: usize = 64;
/// Words of a line.
pub const LINE_WORDS: usize = LINE / 8;
/// In a line's last word: states that were to come here, or came by, are elsewhere. Once set it stays.
pub const OVERFLOW: u64 = 1 << 63;
/// Where the lines begin.
pub const LINES_OFFSET: usize = 4096;
/// How many counts of states there are; their sum is how many.
pub const COUNTS: usize = 32;

/// A count, alone in its line.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct Count {
    /// States that were put in by those who use this count.
    pub states: u64,
    /// Zero.
    pub reserved: [u64; 7],
}

/// The first page of a file. All numbers little-endian.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: u32,
    /// [`Content::WIDTH`].
    pub width: u32,
    /// The build, as in its [`crate::module::ModuleRecord`].
    pub id: [u8; 16],
    /// Tells this file from one that takes its name later.
    pub nonce: u64,
    /// Zero.
    pub reserved: [u64; 3],
    /// How many lines are in use, times two; plus 1 while states go to the last [`BATCH`] of them.
    pub size: u64,
    /// For how many lines there is room in the file.
    pub room: u64,
    /// When the last batch was begun, in ns since 1970.
    pub since: u64,
    /// Whether the file for wide keys has narrow ones that found no place here.
    pub spilled: u64,
    /// Zero.
    pub reserved_too: [u64; 4],
    /// Zero.
    pub rest: [u64; (LINES_OFFSET - 128 - COUNTS * 64) / 8],
    /// How many states there are.
    pub counts: [Count; COUNTS],
}

const _: () = assert!(size_of::<Header>() == LINES_OFFSET);
const _: () = assert!(offset_of!(Header, nonce) == 32 && offset_of!(Header, size) == 64);
const _: () = assert!(offset_of!(Header, counts) == 2048 && size_of::<Count>() == LINE);
const _: () = assert!(FIRST_LINES.is_multiple_of(BATCH));

/// Bytes of a file with room for so many lines.
pub const fn file_size(room: u64) -> u64 {
    LINES_OFFSET as u64 + room * LINE as u64
}

/// A unit's state of up to 8 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct Narrow {
    pub unit: u32,
    pub state: u64,
}

/// A unit's state of up to 16 bytes, or a hash of a larger one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct Wide {
    pub unit: u32,
    pub state: u128,
}

/// A key of either width.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum Key {
    Narrow(Narrow),
    Wide(Wide),
}

/// A key as it is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mixed {
    /// Told by the line's number.
    pub class: u64,
    /// In the slot. The first chooses among the lines of a class.
    pub words: [u64; 2],
    /// In the slot's field.
    pub rest: u64,
}

impl Mixed {
    /// Whether a slot can hold it.
    #[inline(always)]
    pub fn is_storable(&self) -> bool {
        self.words[0] > GONE
    }
}

/// What is in a file's lines.
pub trait Content: Copy + 'static {
    /// What tells such files from others: the bits of a key, if keys are in them.
    const WIDTH: u32;
}

/// How keys of one width are stored.
pub trait Format: Content {
    type Key: Copy;
    /// States in a line.
    const SLOTS: usize;
    /// Words of a slot.
    const WORDS: usize;
    /// Bits of a key that are in the field.
    const REST_BITS: u32;
    /// In how many lines a state may be: [`aside`] of 0, of 1, and so on.
    const ASIDES: usize;
    /// How many states [`BATCH`] lines are to hold, when lines are in groups.
    const DENSITY: u64;
    /// The same before: some lines have twice as many as others.
    const FIRST_DENSITY: u64;

    /// Whether so many lines are too few for so many states.
    #[inline(always)]
    fn is_dense(states: u64, lines: u64) -> bool {
        states > Self::fit(lines)
    }

    /// Whether they are so much too few that others are soon far aside.
    #[inline(always)]
    fn is_crowded(states: u64, lines: u64) -> bool {
        states > Self::fit(lines) / 8 * 9
    }

    /// How many states so many lines are to hold.
    #[inline(always)]
    fn fit(lines: u64) -> u64 {
        lines / BATCH * if lines < GROUPED { Self::FIRST_DENSITY } else { Self::DENSITY }
    }

    /// The key as it is stored, or none if it can't be here.
    fn mix(key: Self::Key) -> Option<Mixed>;
    /// The key that is stored like that.
    fn unmix(mixed: Mixed) -> Self::Key;

    /// Bits of a field: whether the slot is taken, then the rest of the key, then how far [`aside`] it is.
    const FIELD_BITS: u32 = 1 + Self::REST_BITS + Self::ASIDES.ilog2();
    /// The bits of the first field.
    const FIELD: u64 = (1 << Self::FIELD_BITS) - 1;

    /// In which word of a line the field of a slot is, and at which bit.
    #[inline(always)]
    fn seat(slot: usize) -> (usize, u32) {
        // Words that are not slots; the last holds one bit less.
        let each = LINE_WORDS - Self::SLOTS * Self::WORDS;
        let share = Self::SLOTS.div_ceil(each);
        (Self::SLOTS * Self::WORDS + slot / share, (slot % share) as u32 * Self::FIELD_BITS)
    }

    /// A field.
    #[inline(always)]
    fn field(mixed: &Mixed, aside: usize) -> u64 {
        1 | mixed.rest << 1 | (aside as u64) << (1 + Self::REST_BITS)
    }

    /// What a slot of that line holds, and the line it belongs to. None if it is empty, or was never finished.
    #[inline(always)]
    fn decode(line: u64, field: u64, words: [u64; 2]) -> Option<(u64, Mixed)> {
        let i = (field >> (1 + Self::REST_BITS)) as usize % Self::ASIDES;
        let (line, rest) = (line ^ aside(i, words[0]), field >> 1 & ((1 << Self::REST_BITS) - 1));
        let mixed = Mixed { class: line & (FIRST_LINES - 1), words, rest };
        (field & 1 != 0 && mixed.is_storable()).then_some((line, mixed))
    }
}

/// States of up to 8 bytes of units below [`NarrowFormat::UNITS`]: 7 in a line.
#[derive(Clone, Copy, Debug)]
pub struct NarrowFormat;

/// No keys but whole states, which have numbers (the runtime's `seen/whole.rs`).
#[derive(Clone, Copy, Debug)]
pub struct WholeStates;

impl Content for WholeStates {
    const WIDTH: u32 = 1;
}

/// All others: 3 in a line. Also narrow keys that have no place among the narrow ones; they stay different from all wide ones.
#[derive(Clone, Copy, Debug)]
pub struct WideFormat;

// Odd numbers without a pattern.
const A: u64 = 0x9e37_79b9_7f4a_7c15;
// One that fits into an instruction.
const E: u64 = 0x5bd1_e995;
const B: u64 = 0xbf58_476d_1ce4_e5b9;
const D: u64 = 0xd6e8_feb8_6659_fd93;

/// Times this, an odd number is 1: what was multiplied by the one is divided by the other.
const fn inverse(odd: u64) -> u64 {
    let mut x = odd;
    let mut i = 0;
    while i < 6 {
        x = x.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(x)));
        i += 1;
    }
    x
}
const B_INVERSE: u64 = inverse(B);
const _: () = assert!(B.wrapping_mul(B_INVERSE) == 1);

/// A bijection after which every bit depends on all; in as few steps as do that.
#[inline(always)]
const fn stir(mut x: u64) -> u64 {
    x = x.wrapping_mul(B);
    x = (x ^ x >> 32).wrapping_mul(B);
    x ^ x >> 32
}

/// Undoes it.
const fn unstir(mut x: u64) -> u64 {
    x = (x ^ x >> 32).wrapping_mul(B_INVERSE);
    (x ^ x >> 32).wrapping_mul(B_INVERSE)
}

impl NarrowFormat {
    /// Units from this one on have their states among the wide.
    pub const UNITS: u32 = 1 << UNIT_BITS;
}

const UNIT_BITS: u32 = CLASS_BITS + NarrowFormat::REST_BITS;
/// The bits of a word that make a unit a class: those from here on, below the ones of [`second`]. Above all that choose
/// among the lines of a class.
const CLASS_SHIFT: u32 = 64 - NEAR.ilog2() - CLASS_BITS;

impl Content for NarrowFormat {
    const WIDTH: u32 = 96;
}

impl Format for NarrowFormat {
    type Key = Narrow;
    const SLOTS: usize = 7;
    const WORDS: usize = 1;
    // With these a field is a byte.
    const REST_BITS: u32 = 2;
    // More find no place in the byte; a state that has none goes to the wide.
    const ASIDES: usize = 32;
    // 12 bytes for each, with the room that is made ahead.
    const DENSITY: u64 = 2755;
    const FIRST_DENSITY: u64 = 1660;

    #[inline(always)]
    fn mix(key: Narrow) -> Option<Mixed> {
        let unit = u64::from(key.unit);
        let word = stir(key.state ^ (unit + 1).wrapping_mul(E));
        let class = (unit ^ word >> CLASS_SHIFT) & (FIRST_LINES - 1);
        (key.unit < Self::UNITS).then_some(Mixed { class, words: [word, 0], rest: unit >> CLASS_BITS })
    }

    fn unmix(mixed: Mixed) -> Narrow {
        let word = mixed.words[0];
        let unit = (mixed.class ^ word >> CLASS_SHIFT) & (FIRST_LINES - 1) | mixed.rest << CLASS_BITS;
        Narrow { unit: unit as u32, state: unstir(word) ^ (unit + 1).wrapping_mul(E) }
    }
}

impl Content for WideFormat {
    const WIDTH: u32 = 160;
}

impl Format for WideFormat {
    type Key = Key;
    const SLOTS: usize = 3;
    const WORDS: usize = 2;
    // The last tells which width the key has.
    const REST_BITS: u32 = 32 - CLASS_BITS + 1;
    // They can't go anywhere else.
    const ASIDES: usize = BATCH as usize;
    // 37 bytes for each: who is aside is not far.
    const DENSITY: u64 = 896;
    const FIRST_DENSITY: u64 = 448;

    #[inline(always)]
    fn mix(key: Key) -> Option<Mixed> {
        let (unit, state, width) = match key {
            Key::Narrow(key) => (key.unit, key.state.into(), 1 << 32),
            Key::Wide(key) => (key.unit, key.state, 0),
        };
        let unit = u64::from(unit);
        let (low, high) = (state as u64, (state >> 64) as u64);
        let low = stir(low ^ (unit + 1).wrapping_mul(A));
        let high = stir(high ^ low.wrapping_mul(D));
        let low = low ^ stir(high ^ A);
        let unit = unit ^ low.wrapping_mul(D) >> 32 | width;
        let mixed = Mixed { class: unit & (FIRST_LINES - 1), words: [low, high], rest: unit >> CLASS_BITS };
        Some(mixed)
    }

    fn unmix(mixed: Mixed) -> Key {
        let [low, high] = mixed.words;
        let unit = (mixed.class | mixed.rest << CLASS_BITS) ^ low.wrapping_mul(D) >> 32;
        let (is_narrow, unit) = (unit >> 32 != 0, unit as u32);
        let low = low ^ stir(high ^ A);
        let high = unstir(high) ^ low.wrapping_mul(D);
        let low = unstir(low) ^ (u64::from(unit) + 1).wrapping_mul(A);
        if is_narrow {
            Key::Narrow(Narrow { unit, state: low })
        } else {
            Key::Wide(Wide { unit, state: u128::from(low) | u128::from(high) << 64 })
        }
    }
}

const _: () = assert!(NarrowFormat::FIELD_BITS == 8 && NarrowFormat::SLOTS == LINE_WORDS - 1);
const _: () = assert!(WideFormat::FIELD_BITS * 2 < 64);
const _: () = assert!(NarrowFormat::ASIDES <= BATCH as usize && NarrowFormat::ASIDES.is_power_of_two());
const _: () = assert!(WideFormat::ASIDES <= BATCH as usize && WideFormat::ASIDES.is_power_of_two());

/// The line of a key among `lines` lines.
///
/// Lines from `FIRST_LINES << n` up to twice as many are of *level* n; those before the first level are the classes' own. A key has
/// a place in the levels for which its word has a bit set, and is in the last of them that was made yet. In levels
/// of groups that place is chosen by bits for this level alone: whichever line of the group it comes from, it may go to any.
#[inline(always)]
pub fn home(class: u64, word: u64, lines: u64) -> u64 {
    // Without branches: each would go one way as often as the other. And in few steps: a processor can look at as many states at
    // once as there is room for their steps.
    if lines < GROUPED {
        let all = u64::MAX >> lines.leading_zeros();
        let place = (class | word << CLASS_BITS) & all;
        return select_unpredictable(place < lines, place, place & all >> 1);
    }
    let last = level(log2(lines as u32).wrapping_sub(CLASS_BITS));
    let group = (class | word >> 3 << CLASS_BITS) as u32;
    let is_made = last.place(group, word) < lines as u32;
    // With the bit of no level the state is in one of the eight lines that the group began with.
    let bits = word as u32 & select_unpredictable(is_made, last.levels, last.before) | BASE;
    level(log2(bits)).place(group, word).into()
}

/// The number of the highest bit that is set; any number if none is.
#[inline(always)]
fn log2(n: u32) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        let bit: u32;
        // The instruction waits for whatever was last written to the register of its result, which it leaves as it is if no bit is
        // set. That may be what was read of the line of the state before: no two states would be looked at at once.
        // SAFETY: registers only.
        unsafe {
            core::arch::asm!("xor {0:e}, {0:e}", "bsr {0:e}, {1:e}", out(reg) bit, in(reg) n, options(pure, nomem, nostack));
        }
        bit
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        31 - (n | 1).leading_zeros()
    }
}

/// Where in a level of groups a place is.
#[repr(C, align(32))]
#[derive(Clone, Copy)]
struct Level {
    /// The level's first line.
    first: u32,
    /// Which bits of the number tell the group,
    group: u32,
    /// and which the eighth of the level.
    eighth: u32,
    /// How far to turn a word until the bits that choose the eighth are there.
    turn: u32,
    /// The bits of words for all levels of groups up to this one,
    levels: u32,
    /// and for those before it.
    before: u32,
}

/// The bit that stands for no level of groups: its level is the lines before these.
const BASE: u32 = 1 << 2;

/// From which bit of a word on its eighth of a level of groups is chosen. Nine levels have bits of their own; what is split again after as
/// many levels, one state in 512, goes to one eighth with all others of its line.
const fn eighth_bits(level: u32) -> u32 {
    16 + 3 * (level % 9)
}
const _: () = assert!(eighth_bits(8) + 3 <= CLASS_SHIFT);

/// Of all levels of groups. A table costs less than a dozen shifts.
static LEVELS: [Level; 16] = {
    let mut levels = [Level { first: 0, group: 0, eighth: 0, turn: 0, levels: 0, before: 0 }; 16];
    // The lowest bits choose one of the first eight.
    let (group, eighth) = (FIRST_LINES as u32 - 1, 7 << CLASS_BITS);
    levels[BASE.ilog2() as usize] = Level { first: 0, group, eighth, turn: CLASS_BITS, levels: 0, before: 0 };
    let mut i = 3;
    while i < levels.len() {
        let shift = i as u32 - 3;
        let (first, group, at) = ((FIRST_LINES << i) as u32, (FIRST_LINES << shift) as u32 - 1, CLASS_BITS + shift);
        let turn = (64 + at - eighth_bits(shift)) % 64;
        levels[i] = Level { first, group, eighth: 7 << at, turn, levels: (2 << i) - 8, before: (1 << i) - 8 };
        i += 1;
    }
    levels
};
const _: () = assert!(MOST_LINES <= u32::MAX as u64);

#[inline(always)]
fn level(level: u32) -> &'static Level {
    debug_assert!(level < 16);
    // SAFETY: no number of lines has more levels than there are here, nor have the bits of levels.
    unsafe { LEVELS.get_unchecked(level as usize) }
}

impl Level {
    #[inline(always)]
    fn place(&self, group: u32, word: u64) -> u32 {
        self.first | word.rotate_left(self.turn) as u32 & self.eighth | group & self.group
    }
}

/// Where the states of a new line are so far: in `count` lines, from `first` on, `stride` apart; and each line after the new one, in the
/// same [`BATCH`], has its states in those after these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sources {
    pub first: u64,
    pub stride: u64,
    pub count: u64,
    /// The words of states that go there have these bits,
    pub bits: u64,
    /// of these.
    pub mask: u64,
}

/// Of which lines the line with this number (at least [`FIRST_LINES`]) gets its states.
pub const fn sources(line: u64) -> Sources {
    let level = (line >> CLASS_BITS | 1).ilog2();
    let last = 1 << level;
    if level < 3 {
        return Sources { first: line & !(FIRST_LINES << level), stride: 0, count: 1, bits: last, mask: last };
    }
    let shift = level - 3;
    let eighth = line >> (CLASS_BITS + shift) & 7;
    let (bits, mask) = (last | eighth << eighth_bits(shift), last | 7 << eighth_bits(shift));
    let group = line & ((FIRST_LINES << shift) - 1);
    let above = group >> CLASS_BITS;
    if above == 0 {
        return Sources { first: group, stride: FIRST_LINES, count: 8, bits, mask };
    }
    let level = above.ilog2() + 3;
    let stride = FIRST_LINES << (level - 3);
    Sources { first: FIRST_LINES << level | group & (stride - 1), stride, count: 8, bits, mask }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers without a pattern.
    fn numbers() -> impl Iterator<Item = u64> {
        (1_u64..).map(|i| stir(i.wrapping_mul(A)))
    }

    #[test]
    fn mixing_can_be_undone() {
        let mut some = numbers();
        for i in 0..100_000_u64 {
            let (unit, state) = (some.next().unwrap(), if i < 1000 { i } else { some.next().unwrap() });
            let narrow = Narrow { unit: unit as u32 % NarrowFormat::UNITS, state };
            assert_eq!(NarrowFormat::unmix(NarrowFormat::mix(narrow).unwrap()), narrow);
            let wide = Wide { unit: unit as u32, state: u128::from(state) << (i % 65) };
            for key in [Key::Wide(wide), Key::Narrow(narrow)] {
                assert_eq!(WideFormat::unmix(WideFormat::mix(key).unwrap()), key);
            }
        }
    }

    #[test]
    fn each_line_of_a_batch_is_aside_once() {
        for word in numbers().take(100) {
            let mut all: Vec<_> = (0..BATCH as usize).map(|i| aside(i, word)).collect();
            assert!(all[0] == 0 && all[1] == second(word) && all[1] < NEAR && all[2] < NEAR);
            all.sort_unstable();
            assert!(all.into_iter().eq(0..BATCH));
        }
    }

    #[test]
    fn keys_that_have_no_place_are_refused() {
        assert_eq!(NarrowFormat::mix(Narrow { unit: NarrowFormat::UNITS, state: 0 }), None);
        // stir(0) is 0, which is the word of an empty slot.
        for word in [0, GONE] {
            let key = Narrow { unit: 2, state: unstir(word) ^ E.wrapping_mul(3) };
            let mixed = NarrowFormat::mix(key).unwrap();
            assert!(mixed.words[0] == word && !mixed.is_storable());
            let left = file::make::<NarrowFormat>([0; 16], 0, &[key]).1;
            assert_eq!(left, [key]);
        }
    }

    #[test]
    fn a_line_tells_the_class_and_never_moves_down() {
        for word in numbers().take(2000) {
            let class = word.wrapping_mul(A) >> 50;
            let mut before = 0;
            for lines in (FIRST_LINES..GROUPED * 9).step_by(BATCH as usize) {
                let line = home(class, word, lines);
                assert!(line < lines && line & (FIRST_LINES - 1) == class && line >= before, "{line} of {lines}");
                before = line;
            }
            assert!(home(class, word, MOST_LINES) < MOST_LINES);
        }
    }

    #[test]
    fn new_lines_take_from_their_sources_alone() {
        for lines in
            [FIRST_LINES, FIRST_LINES * 3, GROUPED, GROUPED + 3 * FIRST_LINES, GROUPED * 5 + BATCH, GROUPED * 40]
        {
            for word in numbers().take(200_000) {
                let class = word.wrapping_mul(A) >> 50;
                let (old, new) = (home(class, word, lines), home(class, word, lines + FIRST_LINES));
                if old != new {
                    assert!(new >= lines);
                    let from = sources(new);
                    let found = (0..from.count).any(|i| from.first + i * from.stride == old);
                    assert!(found && word & from.mask == from.bits, "{old} to {new}: {from:?}");
                }
            }
        }
    }

    #[test]
    fn no_line_is_much_denser_than_the_average() {
        // Lines of one class in 64, and keys of these alone.
        let mut worst: f64 = 0.0;
        for lines in (GROUPED..GROUPED * 4).step_by(FIRST_LINES as usize / 2) {
            let mut counts = std::collections::HashMap::new();
            let n = lines / 256 * 64;
            for word in numbers().take(n as usize) {
                *counts.entry(home(word.wrapping_mul(A) >> 50 & !0xff, word, lines) >> 14).or_insert(0_u64) += 1;
            }
            let rows = lines as f64 / FIRST_LINES as f64;
            worst = worst.max(*counts.values().max().unwrap() as f64 * rows / n as f64);
        }
        assert!(worst < 1.45, "{worst}");
    }
}
