//! Reading and making files of the seen set, for the driver. In: bytes, or keys. Out: keys, or bytes.

use super::{
    BATCH, FIRST_LINES, Format, GROUPED, Header, LINE, LINE_WORDS, LINES_OFFSET, MAGIC, MOST_LINES, OVERFLOW, VERSION,
    aside, file_size, home,
};
use std::fmt;
use std::mem::offset_of;

/// Why bytes are not such a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// Not a seen set, or for keys of another width.
    Foreign,
    /// Of that version.
    Version(u32),
    /// Sizes that can't be.
    Corrupt,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Foreign => write!(f, "not a seen set of this kind"),
            Unreadable::Version(v) => write!(f, "a seen set of version {v}, this is version {VERSION}"),
            Unreadable::Corrupt => write!(f, "a seen set with sizes that can't be"),
        }
    }
}

impl std::error::Error for Unreadable {}

/// A file that was read.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    bytes: &'a [u8],
    /// The build.
    pub id: [u8; 16],
    /// Lines in use.
    pub lines: u64,
    /// Whether narrow keys that found no place here are among the wide.
    pub spilled: bool,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}

impl<'a> Seen<'a> {
    /// Looks at the header. A file that is shorter than its header says is read as far as it goes.
    pub fn read<F: Format>(bytes: &'a [u8]) -> Result<Seen<'a>, Unreadable> {
        if bytes.len() < LINES_OFFSET || bytes[..8] != MAGIC || u32_at(bytes, offset_of!(Header, width)) != F::WIDTH {
            return Err(Unreadable::Foreign);
        }
        let version = u32_at(bytes, offset_of!(Header, version));
        if version != VERSION {
            return Err(Unreadable::Version(version));
        }
        let lines = u64_at(bytes, offset_of!(Header, size)) >> 1;
        if !(FIRST_LINES..=MOST_LINES).contains(&lines) || !lines.is_multiple_of(BATCH) {
            return Err(Unreadable::Corrupt);
        }
        let id = offset_of!(Header, id);
        let id = bytes[id..id + 16].try_into().map_err(|_| Unreadable::Corrupt)?;
        let spilled = u64_at(bytes, offset_of!(Header, spilled)) != 0;
        Ok(Seen { bytes, id, lines, spilled })
    }

    /// All keys; one that was on its way to another line may come twice.
    pub fn keys<F: Format>(self) -> impl Iterator<Item = F::Key> {
        self.bytes[LINES_OFFSET..].chunks_exact(LINE).enumerate().flat_map(|(line, bytes)| {
            (0..F::SLOTS).filter_map(move |slot| {
                let (word, shift) = F::seat(slot);
                let field = u64_at(bytes, word * 8) >> shift & F::FIELD;
                let word = |i| if i < F::WORDS { u64_at(bytes, (slot * F::WORDS + i) * 8) } else { 0 };
                let (_, mixed) = F::decode(line as u64, field, [word(0), word(1)])?;
                Some(F::unmix(mixed))
            })
        })
    }
}

/// A file with these keys, each of which comes once. Returns those that found no place: states of a narrow key that belong among the wide,
/// or which are forgotten.
pub fn make<F: Format>(id: [u8; 16], nonce: u64, keys: &[F::Key]) -> (Vec<u8>, Vec<F::Key>) {
    let states = keys.len() as u64;
    let (few, many) = (states.div_ceil(F::FIRST_DENSITY) * BATCH, states.div_ceil(F::DENSITY) * BATCH);
    let lines = if few < GROUPED { few } else { many.max(GROUPED) }.clamp(FIRST_LINES, MOST_LINES);
    let mut words = vec![[0_u64; LINE_WORDS]; lines as usize];
    let (mut left, mut count) = (Vec::new(), 0_u64);
    for &key in keys {
        match F::mix(key).filter(super::Mixed::is_storable).and_then(|mixed| put::<F>(&mut words, &mixed, lines)) {
            Some(()) => count += 1,
            None => left.push(key),
        }
    }
    let mut bytes = vec![0; LINES_OFFSET];
    bytes.reserve_exact(lines as usize * LINE);
    let mut write = |at: usize, what: &[u8]| bytes[at..at + what.len()].copy_from_slice(what);
    write(0, &MAGIC);
    write(offset_of!(Header, version), &VERSION.to_le_bytes());
    write(offset_of!(Header, width), &F::WIDTH.to_le_bytes());
    write(offset_of!(Header, id), &id);
    write(offset_of!(Header, nonce), &nonce.to_le_bytes());
    write(offset_of!(Header, size), &(lines * 2).to_le_bytes());
    write(offset_of!(Header, room), &lines.to_le_bytes());
    write(offset_of!(Header, spilled), &u64::from(!left.is_empty()).to_le_bytes());
    write(offset_of!(Header, counts), &count.to_le_bytes());
    bytes.extend(words.iter().flatten().flat_map(|word| word.to_le_bytes()));
    debug_assert_eq!(bytes.len() as u64, file_size(lines));
    (bytes, left)
}

fn put<F: Format>(lines: &mut [[u64; LINE_WORDS]], mixed: &super::Mixed, count: u64) -> Option<()> {
    let home = home(mixed.class, mixed.words[0], count);
    let number = |i| (home ^ aside(i, mixed.words[0])) as usize;
    let empty = |line: &[u64; LINE_WORDS]| (0..F::SLOTS).filter(|slot| line[slot * F::WORDS] == 0).count();
    // Of the first two the one with more room.
    let is_second = empty(lines.get(number(1))?) > empty(lines.get(number(0))?);
    for i in (0..F::ASIDES).skip(usize::from(is_second)) {
        let line = lines.get_mut(number(i))?;
        if let Some(slot) = (0..F::SLOTS).find(|slot| line[slot * F::WORDS] == 0) {
            let at = slot * F::WORDS;
            line[at..at + F::WORDS].copy_from_slice(&mixed.words[..F::WORDS]);
            let (word, shift) = F::seat(slot);
            line[word] |= F::field(mixed, i) << shift;
            return Some(());
        }
        if i != 1 {
            line[LINE_WORDS - 1] |= OVERFLOW;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seen::{Key, Narrow, NarrowFormat, Wide, WideFormat};

    const ID: [u8; 16] = *b"the build's id..";

    #[test]
    fn what_was_made_is_read() {
        let narrow: Vec<_> = (0..300_000).map(|i| Narrow { unit: i % 7, state: u64::from(i / 7) }).collect();
        let (bytes, left) = make::<NarrowFormat>(ID, 1, &narrow);
        assert_eq!(left.len(), 0);
        let seen = Seen::read::<NarrowFormat>(&bytes).unwrap();
        let mut found: Vec<_> = seen.keys::<NarrowFormat>().map(|k| (k.state * 7 + u64::from(k.unit)) as u32).collect();
        found.sort_unstable();
        assert!(seen.id == ID && found.into_iter().eq(0..300_000));

        let wide = |i: u32| Key::Wide(Wide { unit: !i, state: u128::from(i) << 90 });
        let keys: Vec<_> = (0..50_000).map(wide).collect();
        let (bytes, left) = make::<WideFormat>(ID, 1, &keys);
        assert_eq!(left.len(), 0);
        let found: Vec<_> = Seen::read::<WideFormat>(&bytes).unwrap().keys::<WideFormat>().collect();
        assert_eq!(found.len(), keys.len());
        assert!(found.iter().collect::<std::collections::HashSet<_>>() == keys.iter().collect());
    }

    #[test]
    fn what_is_no_such_file_is_refused() {
        let (good, _) = make::<NarrowFormat>(ID, 1, &[]);
        let read = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = good.clone();
            change(&mut bytes);
            Seen::read::<NarrowFormat>(&bytes).map(|seen| seen.lines)
        };
        assert_eq!(read(&|_| ()), Ok(FIRST_LINES));
        assert_eq!(read(&|b| b[0] = b'X'), Err(Unreadable::Foreign));
        assert_eq!(read(&|b| b.truncate(4095)), Err(Unreadable::Foreign));
        assert_eq!(read(&|b| b[8] = 9), Err(Unreadable::Version(9)));
        assert_eq!(read(&|b| b[65] = 0), Err(Unreadable::Corrupt));
        assert_eq!(Seen::read::<WideFormat>(&good).err(), Some(Unreadable::Foreign));
        // As far as it goes.
        assert_eq!(read(&|b| b.truncate(5000)), Ok(FIRST_LINES));
    }
}
