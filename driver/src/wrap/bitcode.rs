//! What a bitcode file says about itself, without LLVM: its target, and whether it is meant for thin LTO.
//!
//! Only the outermost level of the module block is walked; nested blocks are skipped by their length. The format is
//! LLVM's bitstream: fields of a given number of bits, blocks that announce their length in words.

/// First bytes of bitcode.
pub const MAGIC: [u8; 4] = *b"BC\xC0\xDE";
/// First bytes of bitcode in a wrapper, which holds the offset of the bitcode.
pub const WRAPPER_MAGIC: [u8; 4] = [0xDE, 0xC0, 0x17, 0x0B];

/// What a bitcode file says about itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    /// The target triple, empty if it has none.
    pub triple: String,
    /// It carries a summary for thin LTO.
    pub thin: bool,
}

/// Numbers of the blocks and records we look for.
const MODULE_BLOCK: u64 = 8;
const THIN_SUMMARY_BLOCK: u64 = 20;
const TRIPLE_RECORD: u64 = 2;

/// Whether these are the first bytes of bitcode.
pub fn is_bitcode(data: &[u8]) -> bool {
    data.starts_with(&MAGIC) || data.starts_with(&WRAPPER_MAGIC)
}

/// Reads the facts. `None` if the file is not bitcode or is damaged.
pub fn read(data: &[u8]) -> Option<Facts> {
    let data = if data.starts_with(&WRAPPER_MAGIC) {
        let word = |at: usize| Some(u32::from_le_bytes(data.get(at..at + 4)?.try_into().ok()?) as usize);
        data.get(word(8)?..)?
    } else {
        data
    };
    let mut bits = Bits { data: data.strip_prefix(&MAGIC)?, at: 0 };
    let mut facts = Facts::default();
    // The file is a sequence of blocks: identification, module, string and symbol tables; tools may concatenate files.
    while bits.at / 8 < bits.data.len() {
        if bits.fixed(2)? != ENTER_BLOCK {
            // Archivers and sections pad with zeros; a second magic number begins another module.
            break;
        }
        let (block, width, length) = bits.enter()?;
        let end = bits.at + length * 32;
        if block == MODULE_BLOCK {
            module(&mut bits, width, end, &mut facts)?;
        }
        bits.at = end;
    }
    Some(facts)
}

/// Reads the records and skips the blocks of one module.
fn module(bits: &mut Bits, width: u32, end: usize, facts: &mut Facts) -> Option<()> {
    let mut abbreviations = Vec::new();
    while bits.at < end {
        match bits.fixed(width)? {
            END_BLOCK => break,
            ENTER_BLOCK => {
                let (block, _, length) = bits.enter()?;
                facts.thin |= block == THIN_SUMMARY_BLOCK;
                bits.at += length * 32;
            }
            DEFINE_ABBREVIATION => abbreviations.push(bits.abbreviation()?),
            UNABBREVIATED => {
                let code = bits.variable(6)?;
                let count = bits.variable(6)?;
                let values = bits.values(count, |b| b.variable(6))?;
                record(code, &values, facts);
            }
            id => {
                let abbreviation = abbreviations.get(id as usize - FIRST_ABBREVIATION)?;
                let values = bits.abbreviated(abbreviation)?;
                record(*values.first()?, &values[1..], facts);
            }
        }
    }
    Some(())
}

fn record(code: u64, values: &[u64], facts: &mut Facts) {
    if code == TRIPLE_RECORD {
        facts.triple = values.iter().map(|v| *v as u8 as char).collect();
    }
}

const END_BLOCK: u64 = 0;
const ENTER_BLOCK: u64 = 1;
const DEFINE_ABBREVIATION: u64 = 2;
const UNABBREVIATED: u64 = 3;
const FIRST_ABBREVIATION: usize = 4;

/// One operand of an abbreviation.
#[derive(Clone, Copy, Debug)]
enum Operand {
    Literal(u64),
    Fixed(u32),
    Variable(u32),
    Array,
    Char6,
    Blob,
}

/// A cursor over bits, least significant first.
struct Bits<'a> {
    data: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn fixed(&mut self, width: u32) -> Option<u64> {
        if width > 64 || self.at + width as usize > self.data.len() * 8 {
            return None;
        }
        let value = (0..width as usize).fold(0, |v, i| {
            let at = self.at + i;
            v | u64::from(self.data[at / 8] >> (at % 8) & 1) << i
        });
        self.at += width as usize;
        Some(value)
    }

    fn variable(&mut self, width: u32) -> Option<u64> {
        if !(2..=32).contains(&width) {
            return None;
        }
        let more = 1 << (width - 1);
        let mut value = 0u64;
        for shift in (0..64).step_by(width as usize - 1) {
            let chunk = self.fixed(width)?;
            value |= (chunk & (more - 1)) << shift;
            if chunk & more == 0 {
                return Some(value);
            }
        }
        None
    }

    fn align(&mut self) {
        self.at = self.at.next_multiple_of(32);
    }

    /// After the id of a new block: its number, the width of its ids, its length in words.
    fn enter(&mut self) -> Option<(u64, u32, usize)> {
        let block = self.variable(8)?;
        let width = self.variable(4)?;
        self.align();
        let length = self.fixed(32)? as usize;
        if self.at + length * 32 > self.data.len() * 8 {
            return None;
        }
        Some((block, u32::try_from(width).ok()?, length))
    }

    fn values(&mut self, count: u64, mut each: impl FnMut(&mut Self) -> Option<u64>) -> Option<Vec<u64>> {
        // Every value takes at least a bit: a longer list is a lie, and must not be allocated for.
        if count as usize > self.data.len() * 8 {
            return None;
        }
        (0..count).map(|_| each(self)).collect()
    }

    fn abbreviation(&mut self) -> Option<Vec<Operand>> {
        let count = self.variable(5)?;
        let mut out = Vec::new();
        for _ in 0..count {
            out.push(if self.fixed(1)? == 1 {
                Operand::Literal(self.variable(8)?)
            } else {
                match self.fixed(3)? {
                    1 => Operand::Fixed(u32::try_from(self.variable(5)?).ok()?),
                    2 => Operand::Variable(u32::try_from(self.variable(5)?).ok()?),
                    3 => Operand::Array,
                    4 => Operand::Char6,
                    5 => Operand::Blob,
                    _ => return None,
                }
            });
        }
        Some(out)
    }

    fn scalar(&mut self, operand: Operand) -> Option<u64> {
        const CHAR6: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";
        match operand {
            Operand::Literal(v) => Some(v),
            Operand::Fixed(0) | Operand::Variable(0) => Some(0),
            Operand::Fixed(w) => self.fixed(w),
            Operand::Variable(w) => self.variable(w),
            Operand::Char6 => self.fixed(6).map(|i| u64::from(CHAR6[i as usize])),
            Operand::Array | Operand::Blob => None,
        }
    }

    fn abbreviated(&mut self, operands: &[Operand]) -> Option<Vec<u64>> {
        let mut out = Vec::new();
        let mut operands = operands.iter().copied();
        while let Some(operand) = operands.next() {
            match operand {
                Operand::Array => {
                    let element = operands.next()?;
                    let count = self.variable(6)?;
                    out.extend(self.values(count, |b| b.scalar(element))?);
                }
                Operand::Blob => {
                    let count = self.variable(6)?;
                    self.align();
                    out.extend(self.values(count, |b| b.fixed(8))?);
                    self.align();
                }
                _ => out.push(self.scalar(operand)?),
            }
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn compile(flags: &[&str]) -> Vec<u8> {
        let mut child = Command::new("clang-22")
            .args(["-x", "c", "-c", "-o", "-", "-"])
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("clang-22 (scripts/setup build installs it)");
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"int f(int x) { return x * 3; } int g;").unwrap();
        child.wait_with_output().unwrap().stdout
    }

    #[test]
    fn full_and_thin_bitcode_and_targets_are_told_apart() {
        let full = read(&compile(&["-flto=full", "-O2"])).unwrap();
        assert_eq!((full.thin, full.triple.starts_with("x86_64-")), (false, true));
        assert!(!read(&compile(&["-flto=full", "-Xclang", "-disable-llvm-passes", "-g"])).unwrap().thin);
        assert!(read(&compile(&["-flto=thin"])).unwrap().thin);
        assert!(!read(&compile(&["-emit-llvm"])).unwrap().thin);
        let arm = read(&compile(&["-flto=full", "--target=aarch64-linux-gnu"])).unwrap();
        assert!(arm.triple.starts_with("aarch64-"), "{}", arm.triple);
        assert_eq!(read(&compile(&[])), None);
    }

    #[test]
    fn damage_is_survived() {
        let good = compile(&["-flto=thin", "-O1"]);
        for cut in 0..good.len() {
            let _ = read(&good[..cut]);
        }
        for at in 4..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0xff;
            let _ = read(&bad);
        }
    }
}
