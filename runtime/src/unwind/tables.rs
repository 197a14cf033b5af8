//! Finds the entry of `.eh_frame` that is about an address, by the sorted table in `.eh_frame_hdr`.

use super::memory::{Cursor, Memory, OMITTED};

/// Where a module has its `.eh_frame_hdr`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tables {
    pub start: usize,
    pub length: usize,
}

/// What is known of a piece of code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Where it begins.
    pub code: usize,
    /// Instructions that hold for all entries of its kind, and those of its own.
    pub common: (usize, usize),
    pub own: (usize, usize),
    pub code_factor: u64,
    pub data_factor: i64,
    /// Which register stands for the return address.
    pub return_register: usize,
    /// A frame that the kernel made for a signal.
    pub is_signal: bool,
}

/// The only form of the table that linkers write: 32 bits each, relative to the table's beginning.
const SORTED: u8 = 0x3b;
/// Entries are never that long.
const LONGEST: usize = 1 << 16;

/// The entry for an address.
pub fn find<M: Memory>(memory: &mut M, tables: &Tables, pc: usize) -> Option<Entry> {
    let entry = search(memory, tables, pc)?;
    read(memory, entry, tables.start, pc)
}

/// Where the last entry lies whose code begins at or before the address.
fn search<M: Memory>(memory: &mut M, tables: &Tables, pc: usize) -> Option<usize> {
    let end = tables.start.checked_add(tables.length)?;
    let mut head = Cursor { memory, at: tables.start, end };
    let (version, frames, count, form) = (head.u8()?, head.u8()?, head.u8()?, head.u8()?);
    if version != 1 || count == OMITTED || form != SORTED {
        return None;
    }
    if frames != OMITTED {
        head.pointer(frames & 0x7f, tables.start)?;
    }
    let count = head.pointer(count, tables.start)?.min(tables.length / 8);
    let first = head.at;
    let mut row = |n: usize| {
        let mut cursor = Cursor { memory: &mut *memory, at: first.checked_add(n.checked_mul(8)?)?, end };
        let at = |offset: u32| tables.start.wrapping_add_signed(offset as i32 as isize);
        Some((at(cursor.u32()?), at(cursor.u32()?)))
    };
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if row(middle)?.0 <= pc {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    row(low.checked_sub(1)?).map(|(_, entry)| entry)
}

/// Where an entry ends that begins at the cursor, of which the length is read.
fn enter<M: Memory>(memory: &mut M, at: usize) -> Option<(usize, usize)> {
    let mut cursor = Cursor { memory, at, end: at.checked_add(16)? };
    let length = match cursor.u32()? {
        u32::MAX => usize::try_from(cursor.u64()?).ok()?,
        length => length as usize,
    };
    (1..LONGEST).contains(&length).then_some(())?;
    Some((cursor.at, cursor.at.checked_add(length)?))
}

fn read<M: Memory>(memory: &mut M, at: usize, data: usize, pc: usize) -> Option<Entry> {
    let (start, end) = enter(memory, at)?;
    let mut cursor = Cursor { memory, at: start, end };
    let back = cursor.u32()? as usize;
    let after = cursor.at;
    let kind = read_kind(cursor.memory, start.checked_sub(back)?, data)?;
    let mut cursor = Cursor { memory, at: after, end };
    let code = cursor.pointer(kind.encoding, data)?;
    let length = cursor.pointer(kind.encoding & 0x0f, 0)?;
    if pc.wrapping_sub(code) >= length {
        return None;
    }
    if kind.is_augmented {
        cursor.block()?;
    }
    Some(Entry { code, own: (cursor.at, end), ..kind.entry })
}

/// What entries of one kind share.
struct Kind {
    entry: Entry,
    /// How pointers to code are written.
    encoding: u8,
    is_augmented: bool,
}

fn read_kind<M: Memory>(memory: &mut M, at: usize, data: usize) -> Option<Kind> {
    let (start, end) = enter(memory, at)?;
    let mut cursor = Cursor { memory, at: start, end };
    let (id, version) = (cursor.u32()?, cursor.u8()?);
    if id != 0 || !matches!(version, 1 | 3) {
        return None;
    }
    let letters = cursor.at;
    while cursor.u8()? != 0 {}
    let code_factor = cursor.uleb()?;
    let data_factor = cursor.sleb()?;
    let return_register = if version == 1 { cursor.u8()?.into() } else { usize::try_from(cursor.uleb()?).ok()? };
    let (mut encoding, mut is_augmented, mut is_signal) = (0, false, false);
    let mut after = cursor.at;
    let mut letter_at = letters;
    loop {
        let mut letter = [0];
        cursor.memory.read(letter_at, &mut letter)?;
        letter_at = letter_at.checked_add(1)?;
        match letter[0] {
            0 => break,
            b'z' if !is_augmented => {
                is_augmented = true;
                let (first, end) = cursor.block()?;
                (cursor.at, after) = (first, end);
            }
            b'R' if is_augmented => encoding = cursor.u8()?,
            b'L' if is_augmented => drop(cursor.u8()?),
            b'P' if is_augmented => {
                let form = cursor.u8()?;
                cursor.pointer(form & 0x7f, data)?;
            }
            b'S' if is_augmented => is_signal = true,
            // Which key signs return addresses, on AArch64.
            b'B' if is_augmented => {}
            _ => return None,
        }
    }
    let (none, common) = ((0, 0), (after, end));
    let entry = Entry { code: 0, common, own: none, code_factor, data_factor, return_register, is_signal };
    Some(Kind { entry, encoding, is_augmented })
}
