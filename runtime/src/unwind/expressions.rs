//! Expressions in tables: a small stack machine. They are rare: frames of signals, entries of the procedure linkage table.

use super::memory::{Cursor, Memory, word};
use crate::registers::Registers;

/// So deep the stack may be, and so many steps it may take: expressions can jump back.
const DEPTH: usize = 16;
const STEPS: usize = 256;

struct Stack {
    values: [usize; DEPTH],
    count: usize,
}

impl Stack {
    fn push(&mut self, value: usize) -> Option<()> {
        *self.values.get_mut(self.count)? = value;
        self.count += 1;
        Some(())
    }

    fn pop(&mut self) -> Option<usize> {
        self.count = self.count.checked_sub(1)?;
        self.values.get(self.count).copied()
    }

    /// The n-th from the top.
    fn peek(&self, n: usize) -> Option<usize> {
        self.values.get(self.count.checked_sub(n.checked_add(1)?)?).copied()
    }
}

/// What an expression gives; `first` lies on the stack when it begins.
pub fn evaluate<M: Memory>(
    memory: &mut M,
    (start, end): (usize, usize),
    registers: &Registers,
    first: Option<usize>,
) -> Option<usize> {
    let mut stack = Stack { values: [0; DEPTH], count: 0 };
    if let Some(first) = first {
        stack.push(first)?;
    }
    let mut cursor = Cursor { memory, at: start, end };
    for _ in 0..STEPS {
        if cursor.is_done() {
            return stack.pop();
        }
        perform(&mut cursor, start, &mut stack, registers)?;
    }
    None
}

fn perform<M: Memory>(
    cursor: &mut Cursor<'_, M>,
    start: usize,
    stack: &mut Stack,
    registers: &Registers,
) -> Option<()> {
    let operation = cursor.u8()?;
    match operation {
        // Constants.
        0x03 | 0x0e | 0x0f => stack.push(cursor.u64()? as usize),
        0x08 => stack.push(cursor.u8()?.into()),
        0x09 => stack.push(cursor.u8()? as i8 as usize),
        0x0a => stack.push(cursor.u16()?.into()),
        0x0b => stack.push(cursor.u16()? as i16 as usize),
        0x0c => stack.push(cursor.u32()? as usize),
        0x0d => stack.push(cursor.u32()? as i32 as usize),
        0x10 => stack.push(cursor.uleb()? as usize),
        0x11 => stack.push(cursor.sleb()? as usize),
        0x30..=0x4f => stack.push((operation - 0x30).into()),
        // Registers and an offset.
        0x70..=0x8f => {
            let offset = cursor.sleb()? as usize;
            stack.push(registers.get((operation - 0x70).into())?.wrapping_add(offset))
        }
        0x92 => {
            let register = usize::try_from(cursor.uleb()?).ok()?;
            let offset = cursor.sleb()? as usize;
            stack.push(registers.get(register)?.wrapping_add(offset))
        }
        // Memory.
        0x06 => {
            let address = stack.pop()?;
            stack.push(word(cursor.memory, address)?)
        }
        0x94 => {
            let (size, address) = (usize::from(cursor.u8()?), stack.pop()?);
            let mut bytes = [0; 8];
            cursor.memory.read(address, bytes.get_mut(..size)?)?;
            stack.push(usize::from_le_bytes(bytes))
        }
        // The stack.
        0x12 => stack.push(stack.peek(0)?),
        0x13 => stack.pop().map(drop),
        0x14 => stack.push(stack.peek(1)?),
        0x15 => {
            let n = cursor.u8()?.into();
            stack.push(stack.peek(n)?)
        }
        0x16 => {
            let (a, b) = (stack.pop()?, stack.pop()?);
            stack.push(a)?;
            stack.push(b)
        }
        // Jumps.
        0x28 | 0x2f => {
            let by = cursor.u16()? as i16;
            if operation == 0x2f || stack.pop()? != 0 {
                let to = cursor.at.checked_add_signed(by.into())?;
                cursor.at = (start..=cursor.end).contains(&to).then_some(to)?;
            }
            Some(())
        }
        0x96 => Some(()),
        0x1f => {
            let a = stack.pop()?;
            stack.push(a.wrapping_neg())
        }
        0x20 => {
            let a = stack.pop()?;
            stack.push(!a)
        }
        0x23 => {
            let by = cursor.uleb()? as usize;
            let a = stack.pop()?;
            stack.push(a.wrapping_add(by))
        }
        _ => {
            let (b, a) = (stack.pop()?, stack.pop()?);
            stack.push(compute(operation, a, b)?)
        }
    }
}

/// What two numbers give.
fn compute(operation: u8, a: usize, b: usize) -> Option<usize> {
    let shift = u32::try_from(b).unwrap_or(u32::MAX);
    Some(match operation {
        0x1a => a & b,
        0x1c => a.wrapping_sub(b),
        0x1e => a.wrapping_mul(b),
        0x21 => a | b,
        0x22 => a.wrapping_add(b),
        0x24 => a.checked_shl(shift).unwrap_or(0),
        0x25 => a.checked_shr(shift).unwrap_or(0),
        0x26 => (a as isize >> shift.min(63)) as usize,
        0x27 => a ^ b,
        0x29 => usize::from(a == b),
        0x2a => usize::from(a as isize >= b as isize),
        0x2b => usize::from(a as isize > b as isize),
        0x2c => usize::from(a as isize <= b as isize),
        0x2d => usize::from((a as isize) < b as isize),
        0x2e => usize::from(a != b),
        _ => return None,
    })
}
