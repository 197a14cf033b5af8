//! What a function has put into memory, in any order: for each object the cells that were stored to. A load gives what was
//! in the object at entry and what any store may have put there.
//!
//! Objects of different names may be the same one at run time, unless both are the function's own, both are globals, or
//! one is behind a parameter that nothing else may touch.

use super::body::{Function, Operand, Program};
use super::must::Written;
use super::paths::{ANYWHERE, Base, Object, Paths, Pointer, Set, add, overlap};
use std::collections::BTreeMap;
use unseen_abi::deps::{Offset, Reason};

/// Of a store whose length is not known.
pub const ENDLESS: u64 = u64::MAX >> 1;
/// The size of a pointer.
const WORD: u64 = 8;
/// How many copies a load looks through with exact offsets, and how many at all.
const COPIES: (usize, usize) = (6, 400);
/// How many cells of an object are told apart.
const CELLS: usize = 64;

/// Stores by object.
#[derive(Debug, Default)]
pub struct Memory {
    regions: BTreeMap<Base, Region>,
    /// Parameters that nothing else may touch what they point to.
    noalias: Vec<bool>,
    /// Parameters that are too small for a pointer.
    narrow: Vec<bool>,
}

#[derive(Debug, Default)]
struct Region {
    cells: Vec<Cell>,
    /// All values in the cells, and what copies may have brought.
    values: Set,
    /// All sources of copies in the cells.
    sources: Vec<Pointer>,
}

/// Bytes of an object.
#[derive(Debug, Clone)]
pub struct Cell {
    pub at: Offset,
    pub length: u64,
    pub content: Content,
}

/// What was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Values(Set),
    /// What lies there.
    Copy(Pointer),
}

/// How a load is made.
#[derive(Clone, Copy)]
pub struct Manner<'a> {
    /// In a loop, or between functions that call each other.
    pub looping: bool,
    /// What is certainly overwritten when the load is made.
    pub written: Option<&'a Written>,
    pub wanted: Wanted,
}

/// Which of the numbers that may lie in memory beside pointers a load gives. Where there is nothing else, all do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Numbers too.
    Anything,
    /// What a callee passes on. A number that was stored under this very name is one; others only may lie there.
    Passed,
    /// A pointer. A number that was stored under this very name was made one.
    Pointer,
}

/// The way of a load through copies.
#[derive(Default)]
struct Trail {
    visited: Vec<(Pointer, bool)>,
    /// Numbers were passed by.
    number: bool,
}

impl Memory {
    pub fn new(function: &Function) -> Memory {
        let narrow = function.params.iter().map(|p| !p.pointer && p.size != 0 && p.size < WORD).collect();
        Memory { regions: BTreeMap::new(), noalias: function.noalias.clone(), narrow }
    }

    /// Takes out what is no pointer for sure: small parameters.
    pub fn drop_narrow(&self, paths: &Paths, set: &mut Set) {
        set.0.retain(|p| match *paths.object(paths.get(*p).0) {
            Object::Param(i) => !self.narrow.get(i as usize).copied().unwrap_or(false),
            _ => true,
        });
    }

    /// Objects with their cells.
    pub fn iter(&self) -> impl Iterator<Item = (Base, &[Cell])> {
        self.regions.iter().map(|(base, region)| (*base, &region.cells[..]))
    }

    /// The cells of an object.
    pub fn cells(&self, base: Base) -> &[Cell] {
        self.regions.get(&base).map_or(&[], |r| &r.cells)
    }

    /// Stores values. Returns whether that is news.
    pub fn store(&mut self, paths: &mut Paths, to: Pointer, length: u64, values: &Set) -> bool {
        let (base, at) = paths.get(to);
        if !holds(paths, base) {
            return false;
        }
        let region = self.regions.entry(base).or_default();
        let mut news = paths.join_all(&mut region.values, values);
        let same = |c: &&mut Cell| c.at == at && c.length == length && matches!(c.content, Content::Values(_));
        match region.cells.iter_mut().find(same) {
            Some(Cell { content: Content::Values(set), .. }) => news |= paths.join_all(set, values),
            _ => {
                news |= region.put(Cell { at, length, content: Content::Values(values.clone()) }, paths);
            }
        }
        news
    }

    /// Copies what lies behind a pointer. Returns whether that is news.
    pub fn copy(&mut self, paths: &mut Paths, program: &Program, to: Pointer, length: u64, from: Pointer) -> bool {
        let (base, at) = paths.get(to);
        if !holds(paths, base) {
            return false;
        }
        match paths.object(paths.get(from).0) {
            Object::Unknown(_) => return self.store(paths, to, length, &Set::of(from)),
            Object::Number => {
                let unknown = paths.start(Object::Unknown(Reason::IntegerToPointer));
                return self.store(paths, to, length, &Set::of(unknown));
            }
            _ => {}
        }
        let (source, _) = paths.get(from);
        let anywhere = paths.pointer(source, ANYWHERE);
        let manner = Manner { looping: true, written: None, wanted: Wanted::Anything };
        let mut brought = self.load(paths, program, anywhere, manner);
        self.drop_narrow(paths, &mut brought);
        let region = self.regions.entry(base).or_default();
        let news = paths.join_all(&mut region.values, &brought);
        let content = Content::Copy(from);
        if region.cells.iter().any(|c| c.at == at && c.length == length && c.content == content) {
            return news;
        }
        if !region.sources.contains(&from) {
            region.sources.push(from);
        }
        region.put(Cell { at, length, content }, paths) || news
    }

    /// The pointers that a value of eight bytes at a place may be.
    pub fn load(&self, paths: &mut Paths, program: &Program, from: Pointer, manner: Manner) -> Set {
        let mut out = Set::default();
        let mut trail = Trail::default();
        self.gather(paths, program, from, manner, &mut out, &mut trail);
        if trail.number && out.0.is_empty() {
            let number = paths.start(Object::Number);
            paths.join(&mut out, number);
        }
        out
    }

    /// The values that were stored in a range of the function's own object.
    pub fn own_values(&self, paths: &mut Paths, program: &Program, from: Pointer, length: u64) -> Set {
        let (base, at) = paths.get(from);
        let mut out = Set::default();
        for cell in self.cells(base) {
            if overlap(cell.at, cell.length, at, length) {
                match &cell.content {
                    Content::Values(set) => {
                        paths.join_all(&mut out, set);
                    }
                    Content::Copy(source) => {
                        let (source, _) = paths.get(*source);
                        if !paths.is_entry(source) {
                            let source = paths.pointer(source, ANYWHERE);
                            let manner = Manner { looping: false, written: None, wanted: Wanted::Anything };
                            self.gather(paths, program, source, manner, &mut out, &mut Trail::default());
                        }
                    }
                }
            }
        }
        out
    }

    fn gather(
        &self,
        paths: &mut Paths,
        program: &Program,
        mut from: Pointer,
        manner: Manner,
        out: &mut Set,
        trail: &mut Trail,
    ) {
        if trail.visited.len() >= COPIES.0 {
            let (base, _) = paths.get(from);
            from = paths.pointer(base, ANYWHERE);
        }
        // What is overwritten now may have been copied before.
        let visit = (from, manner.written.is_some());
        if trail.visited.contains(&visit) {
            return;
        }
        if trail.visited.len() >= COPIES.1 {
            let unknown = paths.start(Object::Unknown(Reason::Limit));
            paths.join(out, unknown);
            return;
        }
        trail.visited.push(visit);
        let (base, at) = paths.get(from);
        match *paths.object(base) {
            Object::Unknown(_) => {
                paths.join(out, from);
                return;
            }
            Object::Number => {
                let unknown = paths.start(Object::Unknown(Reason::IntegerToPointer));
                paths.join(out, unknown);
                return;
            }
            Object::Thrown => {
                let unknown = paths.start(Object::Unknown(Reason::Exception));
                paths.join(out, unknown);
                return;
            }
            Object::Constant(global) => {
                for (offset, operand) in &program.globals[global as usize].pointers {
                    if overlap(Offset::At(*offset as i64), WORD, at, WORD) {
                        let set = constant(paths, program, *operand);
                        paths.join_all(out, &set);
                    }
                }
                return;
            }
            _ => {}
        }
        let number = paths.start(Object::Number);
        let unknown = paths.start(Object::Unknown(Reason::IntegerToPointer));
        if manner.wanted == Wanted::Pointer && may_be_one_union(paths, base) && self.is_pieced(base, at) {
            paths.join(out, unknown);
        }
        for cell in self.cells(base) {
            if !overlap(cell.at, cell.length, at, WORD) {
                continue;
            }
            match &cell.content {
                Content::Values(set) => {
                    let exact = matches!(at, Offset::At(_)) && cell.at == at && cell.length == WORD;
                    let forged = exact && may_be_one_union(paths, base);
                    for pointer in set.iter() {
                        match manner.wanted {
                            Wanted::Pointer if pointer == number && forged => paths.join(out, unknown),
                            Wanted::Pointer | Wanted::Passed if pointer == number && !forged => {
                                trail.number = true;
                                false
                            }
                            _ => paths.join(out, pointer),
                        };
                    }
                }
                Content::Copy(source) => {
                    let moved = add(at, negative(cell.at));
                    let source = paths.shift(*source, moved);
                    let manner = Manner { written: None, ..manner };
                    self.gather(paths, program, source, manner, out, trail);
                }
            }
        }
        if !paths.is_entry(base) {
            return;
        }
        let overwritten = match (manner.written, at) {
            (Some(written), Offset::At(at)) => paths.is_one(base) && written.covers(base, at, WORD),
            _ => false,
        };
        if !overwritten {
            let followed = paths.follow(base, at, manner.looping);
            let pointer = paths.pointer(followed, if is_reach(paths, followed) { ANYWHERE } else { Offset::At(0) });
            paths.join(out, pointer);
        }
        // A name of many objects is also another object than itself.
        let same = |o: &Base| if *o == base { !paths.is_one(base) } else { self.may_be_same(paths, base, *o) };
        let others: Vec<Base> = self.regions.keys().copied().filter(same).collect();
        for other in others {
            for pointer in self.regions[&other].values.iter().filter(|p| *p != number) {
                paths.join(out, pointer);
            }
        }
    }

    /// Whether all bytes of a place have been stored as parts of it, and not all as constants, which are in no set: these may make a pointer.
    fn is_pieced(&self, base: Base, at: Offset) -> bool {
        let Offset::At(at) = at else { return false };
        let (mut stored, mut known) = ([false; WORD as usize], true);
        for cell in self.cells(base) {
            let (Offset::At(start), Content::Values(set)) = (cell.at, &cell.content) else { continue };
            if cell.length < WORD && overlap(cell.at, cell.length, Offset::At(at), WORD) {
                known &= set.0.is_empty();
                for byte in start.max(at)..(start + cell.length as i64).min(at + WORD as i64) {
                    stored[(byte - at) as usize] = true;
                }
            }
        }
        !known && stored.iter().all(|byte| *byte)
    }

    /// Whether two objects of different names may be one.
    fn may_be_same(&self, paths: &Paths, a: Base, b: Base) -> bool {
        if !paths.is_entry(b) {
            return false;
        }
        let alone = |base: Base, other: Base| match (paths.object(base), paths.object(other)) {
            (_, Object::Closure(..) | Object::Reach(_)) => false,
            (Object::Param(i), _) => self.noalias.get(*i as usize).copied().unwrap_or(false),
            _ => false,
        };
        let globals = |base: Base| matches!(paths.object(base), Object::Global(_));
        let unnamed = |base: Base| matches!(paths.object(base), Object::Variadic);
        !(globals(a) && globals(b) || alone(a, b) || alone(b, a) || unnamed(a) || unnamed(b))
    }

    /// Everything that can be reached from pointers: objects as pointers to anywhere in them.
    pub fn reach(&self, paths: &mut Paths, program: &Program, from: &Set) -> Set {
        let mut out = Set::default();
        let mut seen: Vec<Base> = Vec::new();
        let mut work: Vec<Pointer> = from.0.clone();
        let mut entry = false;
        while let Some(pointer) = work.pop() {
            let (base, _) = paths.get(pointer);
            if seen.contains(&base) {
                continue;
            }
            seen.push(base);
            // Nothing is reached from a number that lies among pointers.
            if *paths.object(base) == Object::Number {
                continue;
            }
            if *paths.object(base) == Object::Thrown {
                let unknown = paths.start(Object::Unknown(Reason::Exception));
                paths.join(&mut out, unknown);
            }
            if paths.is_entry(base) {
                let reached = paths.reach(base);
                let pointer = paths.pointer(reached, ANYWHERE);
                paths.join(&mut out, pointer);
                // What was stored behind any name may be reached from this one.
                if !entry {
                    entry = true;
                    let stored: Vec<Base> = self.regions.keys().copied().filter(|b| paths.is_entry(*b)).collect();
                    for base in stored {
                        self.push_contents(base, &mut work);
                    }
                }
                continue;
            }
            let anywhere = paths.pointer(base, ANYWHERE);
            paths.join(&mut out, anywhere);
            if let Object::Constant(global) = *paths.object(base) {
                for (_, operand) in &program.globals[global as usize].pointers {
                    work.extend(constant(paths, program, *operand).iter());
                }
            }
            self.push_contents(base, &mut work);
        }
        out
    }

    fn push_contents(&self, base: Base, work: &mut Vec<Pointer>) {
        if let Some(region) = self.regions.get(&base) {
            work.extend(region.values.iter());
            work.extend(&region.sources);
        }
    }
}

impl Region {
    fn put(&mut self, cell: Cell, paths: &mut Paths) -> bool {
        if self.cells.len() < CELLS {
            self.cells.push(cell);
            return true;
        }
        // Too many to tell apart: what follows may lie anywhere.
        let wide = Cell { at: ANYWHERE, length: ENDLESS, content: cell.content };
        if let Content::Values(values) = &wide.content {
            for old in &mut self.cells {
                if let (ANYWHERE, Content::Values(set)) = (old.at, &mut old.content) {
                    return paths.join_all(set, values);
                }
            }
        } else if self.cells.iter().any(|c| c.at == ANYWHERE && c.content == wide.content) {
            return false;
        }
        self.cells.push(wide);
        true
    }
}

/// Whether an object holds what is stored in it. Constants and nowhere do not; what an exception holds is not known anyway.
fn holds(paths: &Paths, base: Base) -> bool {
    !matches!(paths.object(base), Object::Constant(_) | Object::Thrown | Object::Number | Object::Unknown(_))
}

/// Whether a number that is stored exactly where a pointer is loaded is that pointer, as in a union. Heap objects of one
/// name may be several, of different types.
fn may_be_one_union(paths: &Paths, base: Base) -> bool {
    paths.is_one(base) && !matches!(paths.object(base), Object::Fresh(_))
}

fn is_reach(paths: &Paths, base: Base) -> bool {
    matches!(paths.object(base), Object::Reach(_))
}

fn negative(offset: Offset) -> Offset {
    match offset {
        Offset::At(at) => at.checked_neg().map_or(ANYWHERE, Offset::At),
        Offset::Every { stride, at } => Offset::Every { stride, at: (stride - at) % stride },
    }
}

/// The pointer that a constant is.
pub fn constant(paths: &mut Paths, program: &Program, operand: Operand) -> Set {
    match operand {
        Operand::Global { global, at } => {
            let constant = program.globals[global as usize].constant;
            let base = paths.base(if constant { Object::Constant(global) } else { Object::Global(global) });
            Set::of(paths.pointer(base, Offset::At(at)))
        }
        Operand::Param(i) => Set::of(paths.start(Object::Param(i))),
        Operand::Thrown => Set::of(paths.start(Object::Thrown)),
        Operand::Unknown(reason) => Set::of(paths.start(Object::Unknown(reason))),
        Operand::Number(_) | Operand::Function(_) | Operand::Inst(_) => Set::default(),
    }
}
