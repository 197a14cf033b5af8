//! Whose code lies at an address. In: `/proc/self/maps`, and the program headers that lie in memory. Out: where its tables for unwinding
//! are, its file, and how far from the addresses that the linker gave it was loaded.

use super::memory::{Cursor, Live, Memory};
use super::{Tables, World};
use crate::maps;
use crate::sys::{self, File};
use core::ops::Range;

/// So many modules are remembered, and so many bytes of their names.
const MOST: usize = 16;
const NAMES: usize = 4096;

/// A module that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Module {
    /// The piece of code that was asked about.
    code: Range<usize>,
    /// What is to be taken from an address to get the linker's.
    pub bias: usize,
    tables: Option<Tables>,
    name: Range<usize>,
}

/// The modules that were found so far.
pub struct Modules {
    pub memory: Live,
    list: [Module; MOST],
    count: usize,
    names: [u8; NAMES],
    used: usize,
    pub(super) input: [u8; 2 * 4096],
}

const NONE: Module = Module { code: 0..0, bias: 0, tables: None, name: 0..0 };

impl Modules {
    pub const fn new() -> Modules {
        Modules {
            memory: Live::new(),
            list: [const { NONE }; MOST],
            count: 0,
            names: [0; NAMES],
            used: 0,
            input: [0; 2 * 4096],
        }
    }

    /// The module at an address, and its number.
    pub fn find(&mut self, pc: usize) -> Option<(usize, &Module)> {
        let is_it = |module: &Module| module.code.contains(&pc);
        let known = self.list.get(..self.count)?.iter().position(is_it);
        let number = known.or_else(|| self.add(pc))?;
        self.list.get(number).map(|module| (number, module))
    }

    /// How many were found.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The file of a module; empty if there was no room for it.
    pub fn name(&self, number: usize) -> &[u8] {
        self.list.get(number).and_then(|module| self.names.get(module.name.clone())).unwrap_or_default()
    }

    fn add(&mut self, pc: usize) -> Option<usize> {
        let file = sys::open_anyhow(c"/proc/self/maps").ok()?;
        let (start, code, length) = scan(&file, &mut self.input, &mut self.names, self.used, pc)?;
        drop(file);
        let name = self.used..self.used + length;
        // Two pieces of code may be of one file.
        let same = self.list.get(..self.count)?.iter().position(|m| m.name.len() == length && self.is_same(m, &name));
        let name = match same.and_then(|n| self.list.get(n)) {
            Some(module) => module.name.clone(),
            None => name,
        };
        let (bias, tables) = headers(&mut self.memory, start).unwrap_or((start, None));
        let number = self.count;
        self.used = self.used.max(name.end);
        *self.list.get_mut(number)? = Module { code, bias, tables, name };
        self.count += 1;
        Some(number)
    }

    fn is_same(&self, module: &Module, name: &Range<usize>) -> bool {
        self.names.get(module.name.clone()) == self.names.get(name.clone())
    }
}

impl Memory for Modules {
    fn read(&mut self, address: usize, to: &mut [u8]) -> Option<()> {
        self.memory.read(address, to)
    }
}

impl World for Modules {
    fn tables(&mut self, pc: usize) -> Option<Tables> {
        self.find(pc)?.1.tables
    }
}

/// Where the file begins in memory whose code is at an address, where that code is, and how many bytes its name has, which is put behind
/// `used` among the names.
fn scan(
    file: &File,
    input: &mut [u8],
    names: &mut [u8],
    used: usize,
    pc: usize,
) -> Option<(usize, Range<usize>, usize)> {
    let (mut first, mut found) = (None, None);
    // What stops the reading is that it was found.
    let _ = maps::for_each_line(file, input, |line| {
        let Some(line) = maps::Line::read(line) else { return Ok(()) };
        let file = (line.device, line.inode);
        if line.offset == 0 {
            first = Some((line.range.start, hash(file)));
        }
        if !line.range.contains(&pc) {
            return Ok(());
        }
        if let (Some((start, of)), true) = (first, line.is_executable)
            && of == hash(file)
        {
            let path = line.path.get(..line.path.len().min(1024)).unwrap_or_default();
            let room = names.get_mut(used..used + path.len());
            let length = room.map_or(0, |room| {
                room.copy_from_slice(path);
                path.len()
            });
            found = Some((start, line.range, length));
        }
        Err(())
    });
    found
}

/// Tells files apart that lie side by side.
fn hash((device, inode): (&[u8], &[u8])) -> u64 {
    device.iter().chain(inode).fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
}

const LOAD: u32 = 1;
const EH_FRAME: u32 = 0x6474_e550;

/// The bias of the module whose file begins there, and its tables.
fn headers(memory: &mut Live, start: usize) -> Option<(usize, Option<Tables>)> {
    let mut head = Cursor { memory, at: start, end: start.checked_add(64)? };
    // A 64-bit file, low bytes first.
    if head.u32()? != 0x464c_457f || head.u16()? != 0x0102 {
        return None;
    }
    head.skip(26)?;
    let offset = head.u64()? as usize;
    head.skip(14)?;
    let (size, count) = (usize::from(head.u16()?), usize::from(head.u16()?));
    let (mut bias, mut tables) = (None, None);
    for n in 0..count.min(64) {
        let at = start.checked_add(offset)?.checked_add(n * size)?;
        let mut header = Cursor { memory: &mut *memory, at, end: at.checked_add(56)? };
        let kind = header.u32()?;
        header.skip(4)?;
        let (offset, address) = (header.u64()? as usize, header.u64()? as usize);
        header.skip(16)?;
        let length = header.u64()? as usize;
        match kind {
            // Where a segment's file offset is not its address modulo a page, the loader refuses it.
            LOAD if bias.is_none() => bias = Some(start.wrapping_sub(address.wrapping_sub(offset))),
            EH_FRAME => tables = Some((address, length)),
            _ => {}
        }
    }
    let bias = bias?;
    Some((bias, tables.map(|(address, length)| Tables { start: bias.wrapping_add(address), length })))
}
