//! Where a frame keeps its caller's registers: the instructions of an [`Entry`] make a row of rules for an address, and the rules make
//! registers.

use super::expressions::evaluate;
use super::memory::{Cursor, Memory, word};
use super::tables::Entry;
use crate::arch;
use crate::registers::{COUNT, Registers};

/// Where a register of the caller is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    /// Where it was.
    Same,
    /// Nowhere.
    Undefined,
    /// In memory, so far from the frame.
    At(i64),
    /// It is the frame's address, and so much.
    Is(i64),
    /// In another register.
    Register(usize),
    /// An expression tells where, or what it is.
    AtResult((usize, usize)),
    IsResult((usize, usize)),
}

/// What tells a frame's address: where the stack was before the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Base {
    Unknown,
    Register(usize, i64),
    Result((usize, usize)),
}

#[derive(Clone, Copy)]
struct Row {
    base: Base,
    rules: [Rule; COUNT],
}

const NO_ROW: Row = Row { base: Base::Unknown, rules: [Rule::Same; COUNT] };
/// So many rows can be remembered.
const REMEMBERED: usize = 8;

/// Room to work in.
pub struct Rows {
    now: Row,
    first: Row,
    remembered: [Row; REMEMBERED],
    depth: usize,
}

impl Rows {
    pub const fn new() -> Rows {
        Rows { now: NO_ROW, first: NO_ROW, remembered: [NO_ROW; REMEMBERED], depth: 0 }
    }
}

/// Makes the registers those of the caller. `Some(false)` if there is none, `None` if that can't be told.
pub fn apply<M: Memory>(
    memory: &mut M,
    rows: &mut Rows,
    entry: &Entry,
    pc: usize,
    registers: &mut Registers,
) -> Option<bool> {
    (rows.now, rows.depth) = (NO_ROW, 0);
    let code = entry.code;
    run(memory, rows, entry, entry.common, usize::MAX, code)?;
    rows.first = rows.now;
    run(memory, rows, entry, entry.own, pc, code)?;
    let row = &rows.now;
    let base = match row.base {
        Base::Unknown => return None,
        Base::Register(number, offset) => registers.get(number)?.wrapping_add_signed(offset as isize),
        Base::Result(expression) => evaluate(memory, expression, registers, None)?,
    };
    let before = *registers;
    registers.set(arch::UNWIND_STACK, Some(base));
    for (number, rule) in row.rules.iter().enumerate() {
        let value = match *rule {
            Rule::Same => continue,
            Rule::Undefined => None,
            Rule::At(offset) => word(memory, base.wrapping_add_signed(offset as isize)),
            Rule::Is(offset) => Some(base.wrapping_add_signed(offset as isize)),
            Rule::Register(other) => before.get(other),
            Rule::AtResult(expression) => {
                evaluate(memory, expression, &before, Some(base)).and_then(|at| word(memory, at))
            }
            Rule::IsResult(expression) => evaluate(memory, expression, &before, Some(base)),
        };
        registers.set(number, value);
    }
    if row.rules.get(entry.return_register) == Some(&Rule::Undefined) {
        return Some(false);
    }
    registers.pc = registers.get(entry.return_register)?;
    Some(true)
}

/// Carries instructions out, as far as they are about code up to `pc`.
fn run<M: Memory>(
    memory: &mut M,
    rows: &mut Rows,
    entry: &Entry,
    (start, end): (usize, usize),
    pc: usize,
    mut at: usize,
) -> Option<()> {
    let mut cursor = Cursor { memory, at: start, end };
    while !cursor.is_done() {
        let instruction = cursor.u8()?;
        let low = u64::from(instruction & 0x3f);
        let step = match (instruction & 0xc0, instruction) {
            (0x40, _) => Some(low),
            (_, 0x02) => Some(cursor.u8()?.into()),
            (_, 0x03) => Some(cursor.u16()?.into()),
            (_, 0x04) => Some(cursor.u32()?.into()),
            _ => None,
        };
        match step {
            Some(step) => {
                at = at.wrapping_add(step.wrapping_mul(entry.code_factor) as usize);
                if at > pc {
                    return Some(());
                }
            }
            None => perform(&mut cursor, rows, entry, instruction, low as usize)?,
        }
    }
    Some(())
}

/// Carries out an instruction that does not move on.
fn perform<M: Memory>(
    cursor: &mut Cursor<'_, M>,
    rows: &mut Rows,
    entry: &Entry,
    instruction: u8,
    low: usize,
) -> Option<()> {
    let scaled = |n: i64| n.wrapping_mul(entry.data_factor);
    let number = |cursor: &mut Cursor<'_, M>| usize::try_from(cursor.uleb()?).ok();
    let mut set = |register: usize, rule: Rule| {
        // Others (vectors, status words) tell nothing about the way.
        if let Some(place) = rows.now.rules.get_mut(register) {
            *place = rule;
        }
    };
    match (instruction & 0xc0, instruction) {
        (0x80, _) => set(low, Rule::At(scaled(cursor.uleb()? as i64))),
        (0xc0, _) => set(low, rows.first.rules.get(low).copied().unwrap_or(Rule::Same)),
        (_, 0x00) => {}
        (_, 0x05) => set(number(cursor)?, Rule::At(scaled(cursor.uleb()? as i64))),
        (_, 0x06) => {
            let register = number(cursor)?;
            set(register, rows.first.rules.get(register).copied().unwrap_or(Rule::Same));
        }
        (_, 0x07) => set(number(cursor)?, Rule::Undefined),
        (_, 0x08) => set(number(cursor)?, Rule::Same),
        (_, 0x09) => set(number(cursor)?, Rule::Register(number(cursor)?)),
        (_, 0x0a) => {
            *rows.remembered.get_mut(rows.depth)? = rows.now;
            rows.depth += 1;
        }
        (_, 0x0b) => {
            rows.depth = rows.depth.checked_sub(1)?;
            rows.now = *rows.remembered.get(rows.depth)?;
        }
        (_, 0x0c) => rows.now.base = Base::Register(number(cursor)?, cursor.uleb()? as i64),
        (_, 0x0d) => {
            let Base::Register(_, offset) = rows.now.base else { return None };
            rows.now.base = Base::Register(number(cursor)?, offset);
        }
        (_, 0x0e) => {
            let Base::Register(register, _) = rows.now.base else { return None };
            rows.now.base = Base::Register(register, cursor.uleb()? as i64);
        }
        (_, 0x0f) => rows.now.base = Base::Result(cursor.block()?),
        (_, 0x10) => set(number(cursor)?, Rule::AtResult(cursor.block()?)),
        (_, 0x11) => set(number(cursor)?, Rule::At(scaled(cursor.sleb()?))),
        (_, 0x12) => rows.now.base = Base::Register(number(cursor)?, scaled(cursor.sleb()?)),
        (_, 0x13) => {
            let Base::Register(register, _) = rows.now.base else { return None };
            rows.now.base = Base::Register(register, scaled(cursor.sleb()?));
        }
        (_, 0x14) => set(number(cursor)?, Rule::Is(scaled(cursor.uleb()? as i64))),
        (_, 0x15) => set(number(cursor)?, Rule::Is(scaled(cursor.sleb()?))),
        (_, 0x16) => set(number(cursor)?, Rule::IsResult(cursor.block()?)),
        // How many bytes of arguments were pushed: the base counts them already.
        (_, 0x2e) => drop(cursor.uleb()?),
        _ => return None,
    }
    Some(())
}
