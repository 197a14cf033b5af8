//! Tables of all kinds of garbage: a walk neither faults nor goes on for ever. That it finds what it should is for real programs to show
//! (`tests/unwinding.rs`).

use super::*;
use crate::registers::COUNT;

/// Numbers that are the same in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

const START: usize = 0x10000;

/// Bytes at one place; everywhere else nothing, or what a hash says: addresses of code as often as not.
struct Garbage {
    bytes: Vec<u8>,
    is_endless: bool,
    reads: usize,
}

impl Memory for Garbage {
    fn read(&mut self, address: usize, to: &mut [u8]) -> Option<()> {
        self.reads += 1;
        for (i, byte) in to.iter_mut().enumerate() {
            let at = address.wrapping_add(i);
            *byte = match self.bytes.get(at.wrapping_sub(START)) {
                Some(byte) => *byte,
                None if self.is_endless => {
                    let hash = |n: usize| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
                    match at % 8 {
                        2 if hash(at / 8) < 128 => 2,
                        3.. if hash(at / 8) < 128 => 0,
                        _ => hash(at),
                    }
                }
                None => return None,
            };
        }
        Some(())
    }
}

impl World for Garbage {
    fn tables(&mut self, _: usize) -> Option<Tables> {
        Some(Tables { start: START, length: self.bytes.len() })
    }
}

/// A table with one entry for all code from 0x20000 on, whose instructions are given.
fn table(common: &[u8], own: &[u8]) -> Vec<u8> {
    let kind_at = 24;
    let kind = [&[0, 0, 0, 0, 1, b'z', b'R', 0, 1, 0x78, 16, 1, 0x1b][..], common].concat();
    let entry_at = kind_at + 4 + kind.len();
    let relative = |to: usize, from: usize| (to.wrapping_sub(from) as u32).to_le_bytes();
    let mut bytes = vec![1, 0x1b, 3, 0x3b];
    bytes.extend(relative(kind_at, 4));
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend(relative(0x20000, START));
    bytes.extend(relative(entry_at, 0));
    bytes.extend(0_u32.to_le_bytes());
    bytes.extend((kind.len() as u32).to_le_bytes());
    bytes.extend(&kind);
    bytes.extend((13 + own.len() as u32).to_le_bytes());
    bytes.extend(relative(entry_at + 4, kind_at));
    bytes.extend(relative(0x20000, START + entry_at + 8));
    bytes.extend(0x1000_0000_u32.to_le_bytes());
    bytes.push(0);
    bytes.extend(own);
    bytes
}

fn walk_all(world: &mut Garbage, mut registers: Registers) -> (End, Vec<usize>) {
    let mut found = Vec::new();
    let end = walk(world, &mut Rows::new(), &mut registers, true, 32, |_, address, _| found.push(address));
    (end, found)
}

/// The frame is 8 above the stack pointer, the return address lies below it.
const PLAIN: &[u8] = &[0x0c, 7, 8, 0x80 | 16, 1];

#[test]
fn a_table_is_followed_to_the_outermost_frame() {
    // The stack lies behind the table: where to return to, twice; 0 is the end.
    let mut bytes = table(PLAIN, &[]);
    let stack = START + bytes.len();
    for word in [0x20010_u64, 0x20020, 0] {
        bytes.extend(word.to_le_bytes());
    }
    let mut world = Garbage { bytes, is_endless: false, reads: 0 };
    let registers = Registers::at(0x20000).with(arch::UNWIND_STACK, stack);
    assert_eq!(walk_all(&mut world, registers), (End::Outermost, vec![0x20000, 0x20010, 0x20020]));
    // An entry that says there is no caller.
    let mut world = Garbage { bytes: table(&[PLAIN, &[0x07, 16]].concat(), &[]), is_endless: true, reads: 0 };
    assert_eq!(walk_all(&mut world, registers), (End::Outermost, vec![0x20000]));
    // Rules change along the code: from 0x20004 on the frame is 16 above, until the state of before is restored at 0x20008.
    let own = [0x0a, 0x44, 0x0e, 16, 0x44, 0x0b];
    for (pc, words) in [(0x20000, 1), (0x20004, 2), (0x20007, 2), (0x20008, 1)] {
        let mut bytes = table(PLAIN, &own);
        let stack = START + bytes.len();
        (0..4_u64).for_each(|n| bytes.extend((0x30000 + n).to_le_bytes()));
        let mut world = Garbage { bytes, is_endless: false, reads: 0 };
        let (_, found) = walk_all(&mut world, Registers::at(pc).with(arch::UNWIND_STACK, stack));
        assert_eq!(found.get(1), Some(&(0x30000 + words - 1)), "{pc:#x}");
    }
}

#[test]
fn an_expression_that_jumps_back_ends() {
    // The frame is the result of: jump to yourself.
    let endless = [0x0f, 3, 0x2f, 0xfd, 0xff];
    let mut world = Garbage { bytes: table(&endless, &[]), is_endless: true, reads: 0 };
    assert_eq!(walk_all(&mut world, Registers::new(0x20000, [START; COUNT])), (End::Cut, vec![0x20000]));
    // And a good one: the word 8 above the stack pointer.
    let good = [0x0f, 3, 0x77, 8, 0x06, 0x16, 16, 2, 0x23, 5];
    let mut bytes = table(&good, &[]);
    let stack = START + bytes.len();
    bytes.extend(0_u64.to_le_bytes());
    bytes.extend(0x20030_u64.to_le_bytes());
    let mut world = Garbage { bytes, is_endless: false, reads: 0 };
    let (_, found) = walk_all(&mut world, Registers::at(0x20000).with(arch::UNWIND_STACK, stack));
    assert_eq!(found[..2], [0x20000, 0x20035]);
}

/// An instruction that there is, about anything.
fn instruction(random: &mut Random) -> Vec<u8> {
    let (register, small, byte) = (random.below(17) as u8, random.below(32) as u8, random.next() as u8);
    match random.below(11) {
        0 | 1 => vec![0x40 | small],
        2 => vec![0x80 | register, small],
        3 => vec![0xc0 | register],
        4 => vec![0x0a],
        5 => vec![0x0a, 0x0e, small, 0x0b],
        6 => vec![0x0c, 7, small],
        7 => vec![0x0e, small],
        8 => vec![0x16, register, 3, 0x70 | register & 15, small, 0x06],
        9 => vec![0x0f, 4, 0x77, small, byte, 0x96],
        _ => vec![0x09, register, random.below(17) as u8],
    }
}

#[test]
fn no_table_makes_a_walk_fault_or_go_on() {
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut frames = 0;
    for round in 0..20_000 {
        let own = match round % 4 {
            0 => (0..random.below(40)).map(|_| random.next() as u8).collect(),
            _ => (0..random.below(8)).flat_map(|_| instruction(&mut random)).collect::<Vec<u8>>(),
        };
        // Some begin with sense, so that what follows is reached.
        let common = if round % 3 > 0 { PLAIN.to_vec() } else { own.iter().rev().copied().collect() };
        let mut bytes = table(&common, &own);
        for _ in 0..random.below(4) {
            let at = random.below(bytes.len());
            bytes[at] = random.next() as u8;
        }
        if round % 7 == 0 {
            bytes.truncate(random.below(bytes.len()));
        }
        let mut world = Garbage { bytes, is_endless: round % 2 == 0, reads: 0 };
        let values = [(); COUNT].map(|()| match random.below(3) {
            0 => START + random.below(200),
            1 => 0x20000 + random.below(100),
            _ => random.next() as usize & !7,
        });
        let (_, found) = walk_all(&mut world, Registers::new(0x20000 + random.below(64), values));
        assert!(found.len() <= 32);
        // An entry has 64 KiB at most, of which each byte is read a few times.
        assert!(world.reads < 32 * 4 * 65536, "{} reads", world.reads);
        frames += found.len() - 1;
    }
    assert!(frames > 2_000, "hardly any table was followed: {frames} frames");
}

#[test]
fn this_test_finds_its_own_tables() {
    let mut modules = modules::Modules::new();
    let here = this_test_finds_its_own_tables as *const () as usize;
    let tables = modules.tables(here).expect("tables");
    assert!(tables::find(&mut modules, &tables, here).is_some_and(|entry| entry.code == here));
    let (number, module) = modules.find(here).unwrap();
    assert!(module.bias <= here);
    let exe = std::env::current_exe().unwrap();
    assert_eq!(modules.name(number), exe.as_os_str().as_encoded_bytes());
    assert!(modules.tables(0).is_none() && modules.tables(modules.input.as_ptr().addr()).is_none());
}
