//! A program as plain data, with only what dependency sets need: where values come from, what memory is touched, who is
//! called. Extraction makes it from the module; tests make it by hand.

use super::slices::Slice;
use unseen_abi::deps::{Param, Reason};
use unseen_abi::manifest::Place;

/// A whole program.
#[derive(Debug, Default)]
pub struct Program {
    pub functions: Vec<Function>,
    pub globals: Vec<Global>,
    /// Functions that one pointer may point to: see [`Callee::Group`].
    pub groups: Vec<Group>,
    /// Pointers to functions that are not here may come from outside: a library, or one unit of several.
    pub open: bool,
    /// Functions that code which is not here may call by name: native objects of the program, or libraries that it shows its symbols to.
    pub visible: Vec<u32>,
    /// Such code may refer to functions or variables.
    pub exposed: bool,
    /// Code of the program may run when it exits.
    pub at_exit: bool,
    /// Somewhere a number is made a pointer. Without that, bits in a pointer are never taken out again.
    pub forges: bool,
}

impl Program {
    /// The global that stands for what is the library's own.
    pub fn foreign(&self) -> u32 {
        self.globals.len() as u32 - 1
    }

    /// The global that stands for what is written to files and streams.
    pub fn output(&self) -> u32 {
        self.globals.len() as u32 - 2
    }
}

/// Functions that one pointer may point to.
#[derive(Debug, Default)]
pub struct Group {
    pub members: Vec<u32>,
    /// It may also point to one that is not here.
    pub open: bool,
}

/// A function, defined or declared.
#[derive(Debug, Default)]
pub struct Function {
    /// The linker's name.
    pub name: String,
    pub params: Vec<Param>,
    /// Bits of the parameters that the caller shares with nobody while the call lasts.
    pub noalias: Vec<bool>,
    /// Parameters that are slices.
    pub slices: Vec<Slice>,
    pub variadic: bool,
    /// The program defines it.
    pub defined: bool,
    /// Its code; without it, what a call does is found in the models.
    pub body: Option<Body>,
    /// What its declaration promises, where it has no code and no model.
    pub promise: Promise,
    /// It is a part of how Rust panics: its code is not looked at.
    pub panics: bool,
    /// It is declared, or known, never to return.
    pub noreturn: bool,
}

/// What LLVM's attributes promise of a function without code.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    #[default]
    Nothing,
    /// Touches no memory.
    NoMemory,
    /// Reads at most what its arguments point to.
    ReadsArguments,
    /// Reads and writes at most what its arguments point to.
    Arguments,
}

/// A global variable.
#[derive(Debug, Default)]
pub struct Global {
    pub name: String,
    /// In bytes; 0 where it is defined elsewhere.
    pub size: u64,
    pub thread_local: bool,
    /// Never changes; `pointers` is all that it holds.
    pub constant: bool,
    /// The pointers in its initial value, by offset.
    pub pointers: Vec<(u64, Operand)>,
}

/// The code of a function. The first block is the entry.
#[derive(Debug, Default)]
pub struct Body {
    pub insts: Vec<Inst>,
    pub blocks: Vec<Block>,
    /// It calls `setjmp`: what it calls may jump back into it.
    pub jumps_back: bool,
    /// Where on the stack something is stored that is as large as a pointer, and of another type.
    pub mixed: Vec<u32>,
}

/// A range of instructions, and what follows it.
#[derive(Debug, Default, Clone)]
pub struct Block {
    pub start: u32,
    pub end: u32,
    pub next: Vec<u32>,
    /// Where the last instruction, a call, goes if it throws.
    pub unwind: Option<u32>,
}

/// An instruction; its result is named by its index.
#[derive(Debug)]
pub struct Inst {
    pub op: Op,
    pub place: Option<Place>,
}

/// A value that an instruction uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// A number; null is 0. Points nowhere.
    Number(i64),
    Param(u32),
    Inst(u32),
    /// An address in a global.
    Global {
        global: u32,
        at: i64,
    },
    /// The address of a function.
    Function(u32),
    /// The address of an exception that was caught.
    Thrown,
    /// A pointer to who knows where, with the reason that dereferencing it gives.
    Unknown(Reason),
}

/// How many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    Bytes(u64),
    /// A value times a factor.
    Value(Operand, u64),
    /// Up to a zero byte.
    Text,
    Unknown,
}

/// What an instruction does.
#[derive(Debug)]
pub enum Op {
    /// A variable on the stack.
    Alloca,
    /// `base + at`, and with a stride any multiple of it more or less. 0 is no stride.
    Offset {
        base: Operand,
        at: i64,
        stride: u64,
    },
    /// One of these.
    Copy(Vec<Operand>),
    /// A number computed of these.
    Compute(Vec<Operand>),
    /// The value with a few of its low bits changed: if it is a pointer, one somewhere near.
    Near(Operand),
    /// A pointer made of a number, unless the number was a pointer before.
    Forge(Operand),
    /// Looks at values.
    Use(Vec<Operand>),
    /// Reads memory. `parts` are the offsets of the scalars in it.
    Load {
        address: Operand,
        size: u64,
        parts: Parts,
        kind: Loaded,
        volatile: bool,
        /// As the source has it, no function's address.
        data: bool,
    },
    /// Writes memory, certainly unless `maybe`.
    Store {
        address: Operand,
        value: Operand,
        size: u64,
        maybe: bool,
        volatile: bool,
    },
    /// Copies memory.
    CopyBytes {
        to: Operand,
        from: Operand,
        length: Length,
    },
    /// Writes numbers.
    Fill {
        to: Operand,
        length: Length,
    },
    /// Calls, certainly unless `maybe`. Nobody looks at the result if it is `ignored`.
    Call {
        callee: Callee,
        args: Vec<Operand>,
        maybe: bool,
        ignored: bool,
    },
    /// Makes the unnamed arguments reachable from the list.
    VaStart {
        list: Operand,
    },
    Return(Operand),
    /// What can't be modelled.
    Opaque(Reason, String),
}

/// What a loaded value is used as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loaded {
    Pointer,
    /// A number that is wide enough for a pointer.
    Integer,
    /// Several values, or others that are wide enough for pointers.
    Wide,
    /// No pointer; though it may be a part of one that is copied in pieces.
    Number,
}

/// Offsets of the scalars in a loaded value.
pub type Parts = Vec<u32>;

/// What a call calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Callee {
    Function(u32),
    /// Whatever the pointer points to: one of the functions of a group.
    Group(u32),
    /// No function of the program fits.
    Nobody,
}
