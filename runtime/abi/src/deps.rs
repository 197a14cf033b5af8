//! Dependency sets: what each function reads that it did not write itself, what it may write, and why that can't
//! always be told. Written by the pass into the section [`crate::sections::DEPS`], read by the driver.
//!
//! A *path* is a pointer as it stood when the function was entered: a parameter, the address of a global, or a pointer
//! that memory held then. Paths are shared: each refers to earlier ones in [`Deps::paths`]. A *place* is bytes behind
//! a path. Everything is meant at the entry of the call: `p->next->value` is the value of the node that `p->next`
//! pointed to before the function changed anything.
//!
//! Encoding: [`crate::records`], with the fields in the order of the structs.

use crate::codec::{Reader, Writer};
use crate::manifest;
pub use crate::place::{Extent, Offset, Place};
use crate::records::{Error, Form};

mod encoding;

/// How they are written.
pub const FORM: Form = Form { what: "dependency sets", magic: *b"UNSEENDS", version: 2 };

/// The sets of one module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Deps {
    /// The id of the manifest that they belong to.
    pub id: [u8; 16],
    /// Global variables that sets name.
    pub globals: Vec<Global>,
    /// Types that debug info gives to parameters and globals; empty without it.
    pub types: Vec<Type>,
    /// Pointers at entry; each refers to smaller indices only.
    pub paths: Vec<Path>,
    /// Every function of the module that has code.
    pub functions: Vec<Function>,
}

/// A global variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Global {
    /// The linker's name; of a local symbol it need not be unique.
    pub name: String,
    /// The name in the source; empty without debug info.
    pub source_name: String,
    /// In bytes; 0 where it is defined elsewhere.
    pub size: u64,
    /// Each thread has its own.
    pub thread_local: bool,
    /// Index into [`Deps::types`].
    pub ty: Option<u32>,
}

/// A type, as far as names of places need it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Type {
    /// A number, an enumeration or anything else without parts.
    Plain { name: String, size: u64 },
    /// A pointer or reference; `None` is `void *`.
    Pointer(Option<u32>),
    /// `count` elements; 0 where the length is open.
    Array { of: u32, count: u64 },
    /// A struct, class, union or tuple.
    Struct { name: String, size: u64, fields: Vec<Field> },
}

/// A part of a struct.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    pub name: String,
    /// In bytes.
    pub offset: u64,
    pub ty: u32,
}

/// A pointer as it stood at entry.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub enum Path {
    /// The value of the n-th parameter of the IR's function (from 0).
    Param(u32),
    /// The address of a global, by index into [`Deps::globals`].
    Global(u32),
    /// The address of the area with the unnamed arguments of a variadic function.
    Variadic,
    /// The pointers that memory held at `at` behind `from`. With [`Offset::Every`] or behind another path of many
    /// pointers, these are many.
    Deref { from: u32, at: Offset },
    /// `from`, and every pointer that is reached by following those at one of the offsets, again and again: `p`,
    /// `p->next`, `p->next->next`, ...
    Closure { from: u32, at: Vec<Offset> },
    /// Everything that can be reached: the object that `from` points into, those its pointers point into, and so on.
    Reach { from: u32 },
}

/// What is read or written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum What {
    /// A parameter's value. A pointer that is only followed is not listed: the places behind it imply it.
    Param(u32),
    /// Memory.
    Memory(Place),
}

/// A member of a set, and what brings it in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Item {
    pub what: What,
    /// The instruction: the access itself, or the call through which it is inherited. Files as in the manifest.
    pub at: Option<manifest::Place>,
    /// Inherited: from which item of which function.
    pub via: Option<Link>,
}

/// An item of another function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// Index into [`Deps::functions`].
    pub function: u32,
    /// Index into that function's `reads` or `writes` (whichever the link stands in).
    pub item: u32,
}

/// A function's parameter.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Param {
    /// The name in the source; empty without debug info.
    pub name: String,
    /// Index into [`Deps::types`].
    pub ty: Option<u32>,
    /// Its size in bytes; 0 where it is not a plain value.
    pub size: u64,
    /// The IR has a pointer here.
    pub pointer: bool,
    /// The pointer is to the caller's copy of a struct passed by value.
    pub by_value: bool,
}

/// The sets of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Function {
    /// Index into the manifest's functions.
    pub function: u32,
    pub params: Vec<Param>,
    /// What it or its callees read that they did not certainly write before.
    pub reads: Vec<Item>,
    /// What it or its callees may write of what lay there at entry.
    pub writes: Vec<Item>,
    /// Why the same state may not mean the same run. The first of each kind; those that hold for calls that return
    /// before those that do not.
    pub reasons: Vec<Because>,
}

/// A reason with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Because {
    pub reason: Reason,
    /// It holds only on ways on which the call does not return: those that exit, panic, throw or jump away. Of a
    /// function that never returns, no reason is marked so.
    pub ends: bool,
    /// The function that is called, where the reason is about one.
    pub name: String,
    /// The instruction, or the call through which the reason is inherited.
    pub at: Option<manifest::Place>,
    /// Inherited from this function; index into [`Deps::functions`].
    pub via: Option<u32>,
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident $hides:literal $key:literal $text:literal;)*) => {
        /// Why a set is opaque.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
        pub enum Reason { $($(#[$doc])* $name),* }

        impl Reason {
            /// All reasons.
            pub const ALL: &[Reason] = &[$(Reason::$name),*];

            /// Whether there may be reads and writes that the set does not list. Else the set is complete, but does
            /// not decide alone what the function does.
            pub fn hides(self) -> bool {
                match self { $(Reason::$name => $hides),* }
            }

            /// For programs.
            pub fn key(self) -> &'static str {
                match self { $(Reason::$name => $key),* }
            }

            /// For people.
            pub fn text(self) -> &'static str {
                match self { $(Reason::$name => $text),* }
            }
        }
    };
}

reasons! {
    /// A call through a pointer for which the program has no function.
    Indirect true "indirect-call" "call through a pointer to an unknown function";
    /// A call of a function that is not in the program and has no model.
    External true "external" "external function without a model";
    /// Inline assembly that may touch memory.
    Assembly true "assembly" "inline assembly";
    /// Memory behind a pointer that was made of a number.
    IntegerToPointer true "integer-to-pointer" "pointer made of a number";
    /// Memory behind a caught exception.
    Exception true "exception" "contents of a caught exception";
    /// A function that returns twice and is not `setjmp`.
    Setjmp true "setjmp" "function that returns twice";
    /// A new thread or process runs code of the program.
    Threads true "threads" "starts a thread or process";
    /// A Rust panic: its message, its hook, its counters.
    Panic true "panic" "panics";
    /// The process exits: what was registered for that runs.
    Exit true "exit" "exits, which runs what was registered for that";
    /// More than the analysis keeps.
    Limit true "limit" "too large to analyse";
    /// An intrinsic or instruction that is not modelled.
    Unmodelled true "unmodelled" "instruction without a model";
    /// A volatile access.
    Volatile false "volatile" "volatile access";
    /// The clock.
    Time false "time" "reads the clock";
    /// A random number.
    Random false "random" "random numbers";
    /// The process: its id, limits, signals, threads.
    Process false "process" "asks about or changes the process";
    /// Environment variables and locale.
    Environment false "environment" "reads the environment";
    /// Reads a file, a socket, standard input.
    Input false "input" "input";
    /// Writes to a file, a socket, standard output, and looks at whether that worked.
    Output false "output" "output, with a look at its result";
}

/// How well a set is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Every item names definite bytes.
    Exact,
    /// Some items name more than can be read: all elements of an array, everything reachable.
    Bounded,
    /// The state does not decide what the function does, or is not wholly known.
    Opaque,
}

impl Deps {
    /// Whether a path is one pointer, not many.
    pub fn is_one(&self, path: u32) -> bool {
        match &self.paths[path as usize] {
            Path::Param(_) | Path::Global(_) | Path::Variadic => true,
            Path::Deref { from, at: Offset::At(_) } => self.is_one(*from),
            Path::Deref { .. } | Path::Closure { .. } | Path::Reach { .. } => false,
        }
    }

    /// Whether an item names definite bytes. All elements of a whole global are definite.
    pub fn is_definite(&self, item: &Item) -> bool {
        let What::Memory(place) = item.what else { return true };
        let global = match self.paths[place.path as usize] {
            Path::Global(g) => self.globals[g as usize].size > 0,
            _ => false,
        };
        let offset = matches!(place.offset, Offset::At(_)) || global;
        let extent = global || !matches!(place.extent, Extent::Rest | Extent::Object);
        self.is_one(place.path) && offset && extent
    }

    /// How well a function's set is known.
    pub fn class(&self, function: &Function) -> Class {
        if function.reasons.iter().any(|b| !b.ends) {
            Class::Opaque
        } else if function.reads.iter().all(|i| self.is_definite(i)) {
            Class::Exact
        } else {
            Class::Bounded
        }
    }
}

impl Function {
    /// Whether reads or writes of a call that returns may be missing from the lists.
    pub fn hides(&self) -> bool {
        self.reasons.iter().any(|b| b.reason.hides() && !b.ends)
    }

    /// Whether reads or writes of a call that does not return may be missing from the lists.
    pub fn hides_at_end(&self) -> bool {
        self.reasons.iter().any(|b| b.reason.hides())
    }

    /// Whether a call that returns changes nothing and does the same for the same state.
    pub fn is_pure(&self) -> bool {
        self.writes.is_empty() && self.reasons.iter().all(|b| b.ends)
    }
}

impl Deps {
    /// The bytes for the section.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer(Vec::new());
        w.deps(self);
        FORM.frame(w)
    }

    /// All records of a section.
    pub fn decode_all(bytes: &[u8]) -> Result<Vec<Deps>, Error> {
        FORM.read_all(bytes, Reader::deps)
    }
}
