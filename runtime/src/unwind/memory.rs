//! Memory that may not be there. In: an address. Out: what lies there, or nothing; never a fault.

use crate::sys;

/// Something that has bytes at addresses.
pub trait Memory {
    /// Fills `to` with what lies at `address`; `None` unless all of it could be read.
    fn read(&mut self, address: usize, to: &mut [u8]) -> Option<()>;
}

/// A word.
pub fn word(memory: &mut (impl Memory + ?Sized), address: usize) -> Option<usize> {
    let mut bytes = [0; 8];
    memory.read(address, &mut bytes)?;
    Some(usize::from_le_bytes(bytes))
}

const BLOCK: usize = 512;
const BLOCKS: usize = 4;

/// The memory of this process, read by the kernel, and the last blocks of it.
pub struct Live {
    blocks: [Block; BLOCKS],
    next: usize,
}

#[derive(Clone, Copy)]
struct Block {
    start: usize,
    length: usize,
    words: [u64; BLOCK / 8],
}

impl Live {
    pub const fn new() -> Live {
        Live { blocks: [Block { start: 0, length: 0, words: [0; BLOCK / 8] }; BLOCKS], next: 0 }
    }

    /// What was read may have changed.
    pub fn forget(&mut self) {
        self.blocks.iter_mut().for_each(|block| block.length = 0);
    }

    fn block(&mut self, start: usize) -> Option<&Block> {
        let known = self.blocks.iter().position(|block| block.start == start && block.length > 0);
        let index = known.unwrap_or(self.next);
        if known.is_none() {
            let block = self.blocks.get_mut(index)?;
            block.start = start;
            block.length = sys::read_memory(sys::process_id(), start, &mut block.words, BLOCK);
            self.next = (index + 1) % BLOCKS;
        }
        self.blocks.get(index)
    }
}

impl Memory for Live {
    fn read(&mut self, address: usize, to: &mut [u8]) -> Option<()> {
        for (i, byte) in to.iter_mut().enumerate() {
            let at = address.checked_add(i)?;
            let block = self.block(at & !(BLOCK - 1))?;
            let offset = at % BLOCK;
            if offset >= block.length {
                return None;
            }
            *byte = (block.words.get(offset / 8)? >> (8 * (offset % 8))) as u8;
        }
        Some(())
    }
}

/// How a pointer in a table is written, when there is none.
pub const OMITTED: u8 = 0xff;

/// Reads a table from its front to its end.
pub struct Cursor<'a, M: Memory> {
    pub memory: &'a mut M,
    pub at: usize,
    pub end: usize,
}

impl<M: Memory> Cursor<'_, M> {
    pub fn is_done(&self) -> bool {
        self.at >= self.end
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let after = self.at.checked_add(N).filter(|after| *after <= self.end)?;
        let mut bytes = [0; N];
        self.memory.read(self.at, &mut bytes)?;
        self.at = after;
        Some(bytes)
    }

    pub fn skip(&mut self, n: usize) -> Option<()> {
        self.at = self.at.checked_add(n).filter(|after| *after <= self.end)?;
        Some(())
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    pub fn uleb(&mut self) -> Option<u64> {
        self.leb().map(|(value, _, _)| value)
    }

    pub fn sleb(&mut self) -> Option<i64> {
        let (value, shift, last) = self.leb()?;
        let is_negative = last & 0x40 != 0 && shift < 64;
        Some((value | if is_negative { u64::MAX << shift } else { 0 }) as i64)
    }

    /// The value, how many bits were given, and the last byte.
    fn leb(&mut self) -> Option<(u64, u32, u8)> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            shift = (shift + 7).min(70);
            if byte & 0x80 == 0 {
                return Some((value, shift, byte));
            }
        }
    }

    /// A block whose length comes first: where it begins and ends.
    pub fn block(&mut self) -> Option<(usize, usize)> {
        let length = usize::try_from(self.uleb()?).ok()?;
        let start = self.at;
        self.skip(length)?;
        Some((start, self.at))
    }

    /// A pointer that is written in that way; `data` is what some are relative to.
    pub fn pointer(&mut self, encoding: u8, data: usize) -> Option<usize> {
        let here = self.at;
        let value = match encoding & 0x0f {
            0x0 | 0x4 | 0xc => self.u64()?,
            0x1 => self.uleb()?,
            0x2 => self.u16()?.into(),
            0x3 => self.u32()?.into(),
            0x9 => self.sleb()? as u64,
            0xa => i64::from(self.u16()? as i16) as u64,
            0xb => i64::from(self.u32()? as i32) as u64,
            _ => return None,
        } as usize;
        let base = match encoding & 0x70 {
            0x00 => 0,
            0x10 => here,
            0x30 => data,
            _ => return None,
        };
        let address = value.wrapping_add(base);
        if encoding & 0x80 != 0 { word(self.memory, address) } else { Some(address) }
    }
}
