//! The registers of a thread, as far as they are known: what the walk along a stack begins with, and what `arch` gives it.

use crate::arch;

/// How many there are.
pub const COUNT: usize = arch::UNWIND_REGISTERS;

/// Registers, of which some may be unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Registers {
    /// Where the code is.
    pub pc: usize,
    values: [usize; COUNT],
    known: u64,
}

impl Registers {
    /// All of them, by DWARF's numbers.
    pub const fn new(pc: usize, values: [usize; COUNT]) -> Registers {
        Registers { pc, values, known: u64::MAX }
    }

    /// None but the place.
    pub const fn at(pc: usize) -> Registers {
        Registers { pc, values: [0; COUNT], known: 0 }
    }

    /// With one more.
    pub fn with(mut self, number: usize, value: usize) -> Registers {
        self.set(number, Some(value));
        self
    }

    pub fn get(&self, number: usize) -> Option<usize> {
        let value = *self.values.get(number)?;
        (self.known >> number & 1 == 1).then_some(value)
    }

    pub fn set(&mut self, number: usize, value: Option<usize>) {
        let Some(place) = self.values.get_mut(number) else { return };
        match value {
            Some(value) => {
                *place = value;
                self.known |= 1 << number;
            }
            None => self.known &= !(1 << number),
        }
    }
}
