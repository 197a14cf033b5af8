//! Which pieces of memory a set stands for when its unit is called.
//!
//! In: the sets of a module, and a unit's arguments. Out: addresses and lengths. It never writes, and whatever pointers say, it
//! never faults.

use crate::list::List;
use crate::memory::{Memory, Room, WORD};
use unseen_abi::sets::{Extent, Lies, Offset, Path, Sets};
use unseen_abi::state::StateRecord;

/// How many pieces of memory a state may have.
pub const PIECES: usize = 96;
/// How many pointers a path may stand for.
const POINTERS: usize = 64;
/// How long a text may be.
const LONGEST_TEXT: usize = 4096;
/// Nothing lies below.
const LOWEST: usize = 4096;

/// A call.
pub struct Walk<'a> {
    pub steps: Steps<'a>,
    /// The last path that was walked, and where it leads.
    path: Option<u32>,
    leads: Pointers,
}

/// What is known of a call, and found on the way.
pub struct Steps<'a> {
    record: &'a StateRecord,
    pub sets: Sets<'a>,
    pub arguments: &'a [u64],
    pub memory: Memory<'a>,
    /// Where pointers lie that are followed.
    pub words: List<usize, PIECES>,
}

/// Pointers that lead somewhere, each once.
struct Pointers(List<usize, POINTERS>);

impl Pointers {
    fn new() -> Pointers {
        Pointers(List::new())
    }

    /// Adds one unless it is there, or points nowhere.
    fn add(&mut self, pointer: usize) -> Option<()> {
        let is_new = pointer >= LOWEST && !self.0.contains(&pointer);
        if is_new { self.0.push(pointer) } else { Some(()) }
    }
}

impl<'a> Walk<'a> {
    /// # Safety
    /// The record is what the pass wrote, and its module stays.
    pub unsafe fn new(record: &'a StateRecord, arguments: &'a [u64], room: &'a mut Room) -> Walk<'a> {
        // SAFETY: the caller's promise.
        let sets = unsafe { record.sets.sets() };
        let steps = Steps { record, sets, arguments, memory: Memory::new(room), words: List::new() };
        Walk { steps, path: None, leads: Pointers::new() }
    }

    /// How many places a set has.
    pub fn places(&self, set: u32) -> Option<u32> {
        Some(self.steps.sets.unit(set)?.places)
    }

    /// Hands the pieces of memory that the n-th place of a set stands for to `each`.
    pub fn pieces(&mut self, set: u32, n: u32, mut each: impl FnMut(usize, usize) -> Option<()>) -> Option<()> {
        let steps = &mut self.steps;
        let place = steps.sets.place(set, n)?;
        if steps.is_foreign(place.path)? {
            return Some(());
        }
        if let Path::Global(global) = steps.sets.path(place.path)?
            && !matches!((place.offset, place.extent), (Offset::At(_), Extent::Bytes(_) | Extent::Text))
        {
            // All of it: its size is known.
            let size = steps.sets.global(global)?.1;
            let start = steps.global(global)?;
            return each(start, usize::try_from(size).ok().filter(|s| *s > 0)?);
        }
        let Offset::At(at) = place.offset else { return None };
        // Many places of a set have the same path.
        if self.path != Some(place.path) {
            self.path = None;
            self.leads.0.clear();
            steps.pointers(place.path, &mut self.leads)?;
            self.path = Some(place.path);
        }
        for pointer in self.leads.0.iter() {
            let start = pointer.wrapping_add_signed(at as isize);
            let length = steps.length(place.extent, start)?;
            each(start, length)?;
        }
        Some(())
    }
}

impl Steps<'_> {
    fn global(&self, number: u32) -> Option<usize> {
        let (lies, _) = self.sets.global(number)?;
        if lies == Lies::Elsewhere {
            return None;
        }
        // SAFETY: what the pass wrote stays while its module's code runs.
        unsafe { self.record.sets.address(lies) }
    }

    /// Whether a path begins at what is the library's own, or is output: sets take that for no state.
    fn is_foreign(&self, mut path: u32) -> Option<bool> {
        loop {
            path = match self.sets.path(path)? {
                Path::Deref { from, .. } | Path::Closure { from, .. } | Path::Reach { from } => from,
                Path::Global(global) => return Some(self.sets.global(global)?.0 == Lies::Elsewhere),
                Path::Param(_) | Path::Variadic => return Some(false),
            }
        }
    }

    fn length(&mut self, extent: Extent, start: usize) -> Option<usize> {
        Some(match extent {
            Extent::Bytes(n) => usize::try_from(n).ok()?,
            Extent::Text => self.text(start)?,
            Extent::ByParam { param, scale } => {
                usize::try_from(self.arguments.get(param as usize)?.checked_mul(scale)?).ok()?
            }
            Extent::ByMemory { path, at, size, scale } => {
                let mut pointers = Pointers::new();
                self.pointers(path, &mut pointers)?;
                let [pointer] = *pointers.0 else { return None };
                let value = self.memory.number(pointer.wrapping_add_signed(at as isize), size as usize)?;
                usize::try_from(value.checked_mul(scale)?).ok()?
            }
            // Nobody knows here where objects end.
            Extent::Rest | Extent::Object => return None,
        })
    }

    fn text(&mut self, start: usize) -> Option<usize> {
        let length = self.memory.text_length(start, LONGEST_TEXT);
        (length < LONGEST_TEXT).then_some(length)
    }

    /// The pointers of a path, and where they lie.
    fn pointers(&mut self, path: u32, out: &mut Pointers) -> Option<()> {
        match self.sets.path(path)? {
            Path::Param(i) => out.add(*self.arguments.get(i as usize)? as usize),
            Path::Global(global) => out.add(self.global(global)?),
            Path::Deref { from, at: Offset::At(at) } => {
                let mut base = Pointers::new();
                self.pointers(from, &mut base)?;
                for pointer in base.0.iter() {
                    self.follow(pointer.wrapping_add_signed(at as isize), out)?;
                }
                Some(())
            }
            Path::Closure { from, first, count } => {
                self.pointers(from, out)?;
                let mut i = 0;
                while let Some(pointer) = out.0.get(i).copied() {
                    for n in first..first.checked_add(count)? {
                        let Offset::At(at) = self.sets.offset(n)? else { return None };
                        self.follow(pointer.wrapping_add_signed(at as isize), out)?;
                    }
                    i += 1;
                }
                Some(())
            }
            // Of all elements, of everything that is reached, and of unnamed arguments nobody knows here where they are.
            Path::Deref { .. } | Path::Reach { .. } | Path::Variadic => None,
        }
    }

    fn follow(&mut self, at: usize, out: &mut Pointers) -> Option<()> {
        if let Some(pointer) = self.memory.number(at, WORD) {
            if !self.words.contains(&at) {
                self.words.push(at)?;
            }
            out.add(pointer as usize)?;
        }
        Some(())
    }
}
