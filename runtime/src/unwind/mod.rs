//! Walks a stack by the tables that compilers leave for exceptions (`.eh_frame`): code has no frame pointers.
//!
//! In: [`Registers`], as they are or were. Out: the addresses of the frames, innermost first. Used in tests that did not pass, never in the
//! program itself.
//!
//! Whatever the registers, the stack and the tables hold, it neither faults nor goes on for ever: memory is read by the kernel
//! ([`memory`]), and each frame takes a bounded number of steps. It allocates nothing and hardly needs a stack: it runs in handlers of
//! crashes.
//!
//! The way of a frame: [`modules`] (whose code is it) → [`tables`] (which entry is about it) → [`rules`] (where its caller's registers
//! are), with [`expressions`] where tables compute.

mod expressions;
mod memory;
pub mod modules;
mod rules;
mod tables;

#[cfg(test)]
mod tests;

use crate::arch;
use crate::registers::Registers;
pub use memory::Memory;
pub use rules::Rows;
pub use tables::Tables;

/// Memory, and whose tables are about an address.
pub trait World: Memory {
    fn tables(&mut self, pc: usize) -> Option<Tables>;
}

/// How a walk ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// With the first frame of the thread.
    Outermost,
    /// Nobody knows what comes next, or there is more than was asked for.
    Cut,
}

/// What the next frame is.
enum Step {
    /// Its address is where a call returns to.
    Return,
    /// It was interrupted by a signal: its address is where it was.
    Exact,
    Outermost,
    Unknown,
}

/// Hands each frame to `each`, innermost first: its address, and whether it was there (else a call returns there). `is_exact` says that of
/// the first.
pub fn walk<W: World>(
    world: &mut W,
    rows: &mut Rows,
    registers: &mut Registers,
    mut is_exact: bool,
    most: usize,
    mut each: impl FnMut(&mut W, usize, bool),
) -> End {
    for n in 0..most {
        each(world, registers.pc, is_exact);
        is_exact = match step(world, rows, registers, is_exact, n == 0) {
            Step::Return => false,
            Step::Exact => true,
            Step::Outermost => return End::Outermost,
            Step::Unknown => return End::Cut,
        };
    }
    End::Cut
}

/// Makes the registers those of the caller.
fn step<W: World>(world: &mut W, rows: &mut Rows, registers: &mut Registers, is_exact: bool, is_first: bool) -> Step {
    // The call may be the last instruction of its function.
    let pc = if is_exact { registers.pc } else { registers.pc.wrapping_sub(1) };
    let Some(tables) = world.tables(pc) else {
        // A wild jump: all that happened since is the call.
        return if is_first && is_exact && arch::return_at_entry(registers, |at| memory::word(world, at)) {
            Step::Return
        } else {
            Step::Unknown
        };
    };
    let Some(entry) = tables::find(world, &tables, pc) else { return Step::Unknown };
    let before = (registers.pc, registers.get(arch::UNWIND_STACK));
    match rules::apply(world, rows, &entry, pc, registers) {
        Some(true) if registers.pc == 0 => Step::Outermost,
        Some(true) if (registers.pc, registers.get(arch::UNWIND_STACK)) == before => Step::Unknown,
        Some(true) if entry.is_signal => Step::Exact,
        Some(true) => Step::Return,
        Some(false) => Step::Outermost,
        None => Step::Unknown,
    }
}
