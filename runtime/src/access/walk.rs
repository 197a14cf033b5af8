//! Evaluates a unit's dependency set when it is entered: which bytes it names, in memory as it is then.
//!
//! Whatever pointers say, nothing here faults ([`Memory`]). An object that is not known is taken to reach
//! [`AROUND`] bytes to both sides of the pointer; one on the stack is the frame it lies in.

use super::bytes::Bytes;
use super::memory::Memory;
use super::objects::{self, Object};
use super::regions;
use unseen_abi::access::{AccessRecord, Extent, Lies, Offset, Path, Place, Sets, Variable};

/// How many pointers a walk may follow at once.
pub const POINTERS: usize = 1 << 14;
/// How many pieces of memory it may read.
const STEPS: u32 = 1 << 15;
/// How long a text may be, or what a number says; and how many bytes small pieces of one object may have.
pub const MOST: usize = 4 << 20;
/// Room for the pointers that are known; a power of two.
const SEEN: usize = 2 * POINTERS;
/// How far an object may reach that nobody knows; and how far over what nobody knows either.
const AROUND: usize = 16 << 10;
const LOOSE: usize = 64 << 20;
/// Nothing lies below.
const LOWEST: usize = 4096;
const WORD: usize = size_of::<usize>();

/// Why a set can't be walked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    TooLarge,
    /// It refers to what can't be found: arguments in registers, a global of another module.
    Unknown,
}

/// A set of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Walked {
    pub bytes: u64,
    /// What is the library's own belongs to it.
    pub foreign: bool,
}

/// The call at whose beginning a set is walked.
pub struct Walk<'a> {
    pub sets: Sets<'a>,
    pub record: &'a AccessRecord,
    pub arguments: &'a [u64],
    /// The unit's frame.
    pub frame: usize,
    /// The frames of the thread, outermost first.
    pub frames: &'a [usize],
    /// Room to work in.
    pub room: &'a mut Room,
    /// Where the set goes.
    pub bytes: &'a mut Bytes,
    pub memory: Memory,
    /// How often memory was read, from 0.
    pub steps: u32,
}

/// What a walk works with. All zero at first.
#[repr(C)]
pub struct Room {
    list: [usize; POINTERS],
    /// Which pointers are in the part of the list that is being filled: those that carry its number.
    seen: [(usize, u64); SEEN],
    part: u64,
}

impl Walk<'_> {
    /// Walks the set of a unit.
    pub fn run(mut self, unit: u32) -> Result<Walked, Stop> {
        let count = self.sets.unit(unit).ok_or(Stop::Unknown)?.places;
        let mut walked = Walked::default();
        for n in 0..count {
            let place = self.sets.place(unit, n).ok_or(Stop::Unknown)?;
            if self.is_foreign(place.path) {
                walked.foreign = true;
                continue;
            }
            self.place(place)?;
        }
        walked.bytes = self.bytes.seal();
        Ok(walked)
    }

    /// Whether a path begins at what is the library's own.
    fn is_foreign(&self, mut path: u32) -> bool {
        loop {
            path = match self.sets.path(path) {
                Some(Path::Deref { from, .. } | Path::Closure { from, .. } | Path::Reach { from }) => from,
                Some(Path::Global(g)) => return matches!(self.sets.global(g), Some((Lies::Elsewhere, _))),
                _ => return false,
            }
        }
    }

    fn place(&mut self, place: Place) -> Result<(), Stop> {
        let count = self.pointers(place.path, 0)?;
        for i in 0..count {
            let pointer = self.at(i);
            let length = self.length(place.extent, count)?;
            let all = matches!(length, Length::Object);
            match place.offset {
                Offset::At(at) if !all => self.span(pointer.wrapping_add_signed(at as isize), length)?,
                Offset::At(_) => self.object_of(pointer)?,
                Offset::Every { stride, .. } if all || matches!(length, Length::Bytes(n) if n as u64 >= stride) => {
                    self.object_of(pointer)?;
                }
                Offset::Every { stride, at } => {
                    let object = self.object(pointer);
                    if object.end() - object.start > MOST {
                        return Err(Stop::TooLarge);
                    }
                    for address in every(&object, pointer, stride, at) {
                        self.span(address, length)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn length(&mut self, extent: Extent, used: usize) -> Result<Length, Stop> {
        Ok(match extent {
            Extent::Bytes(n) => Length::Bytes(n as usize),
            Extent::Text => Length::Text,
            Extent::Rest => Length::Rest,
            Extent::Object => Length::Object,
            Extent::ByParam { param, scale } => {
                let value = self.arguments.get(param as usize).copied().ok_or(Stop::Unknown)?;
                Length::Bytes(usize::try_from(value.saturating_mul(scale)).unwrap_or(usize::MAX))
            }
            Extent::ByMemory { path, at, size, scale } => {
                let count = self.pointers(path, used)?;
                let mut most = 0;
                for i in used..used + count {
                    let value = self.memory.number(self.at(i).wrapping_add_signed(at as isize), size as usize);
                    most = value.unwrap_or(0).saturating_mul(scale).max(most);
                }
                Length::Bytes(usize::try_from(most).unwrap_or(usize::MAX))
            }
        })
    }

    /// Adds what begins there.
    fn span(&mut self, start: usize, length: Length) -> Result<(), Stop> {
        let size = match length {
            Length::Bytes(n) if n <= MOST => n,
            // Whoever passes such a number does not mean it, or the object ends before.
            Length::Bytes(_) | Length::Rest => {
                let object = self.object(start);
                if object.is_guess {
                    self.bytes.add_loose(start, LOOSE);
                }
                object.end().saturating_sub(start)
            }
            Length::Text => self.memory.text_length(start, MOST),
            Length::Object => return self.object_of(start),
        };
        self.add(start, size)
    }

    fn object_of(&mut self, pointer: usize) -> Result<(), Stop> {
        if pointer < LOWEST {
            return Ok(());
        }
        let object = self.object(pointer);
        if object.is_guess {
            // It may be larger.
            self.bytes.add_loose(pointer.saturating_sub(LOOSE), 2 * LOOSE);
        }
        self.add(object.start, object.end() - object.start)
    }

    fn add(&mut self, start: usize, size: usize) -> Result<(), Stop> {
        if start < LOWEST {
            return Ok(());
        }
        self.bytes.add(start, size).map_err(|_| Stop::TooLarge)
    }

    /// The object that a pointer points into, or just behind.
    fn object(&self, pointer: usize) -> Span {
        let found = objects::find(pointer).or_else(|| objects::find(pointer.wrapping_sub(1)));
        if let Some(object) = found {
            return Span::of(&object);
        }
        self.stack(pointer).unwrap_or(Span {
            start: pointer.saturating_sub(AROUND),
            end: pointer.saturating_add(AROUND),
            is_guess: true,
        })
    }

    /// The frame that a pointer points into: from the top of the frame below to its own top.
    fn stack(&self, pointer: usize) -> Option<Span> {
        let below = self.frames.iter().copied().filter(|f| *f <= pointer).max()?.max(self.frame);
        let above = self.frames.iter().copied().filter(|f| *f > pointer).min();
        let end = above.unwrap_or(pointer.saturating_add(AROUND));
        // The innermost frame is the unit's own: what lies below is nobody's.
        (pointer >= self.frame && (above.is_some() || pointer - below < AROUND)).then_some(Span {
            start: below,
            end,
            is_guess: false,
        })
    }

    fn at(&self, i: usize) -> usize {
        self.room.list.get(i).copied().unwrap_or(0)
    }

    fn step(&mut self) -> Result<(), Stop> {
        self.steps += 1;
        if self.steps > STEPS { Err(Stop::TooLarge) } else { Ok(()) }
    }

    /// Appends to the list behind its first `end` entries; returns the new end.
    fn push(&mut self, end: usize, pointer: usize) -> Result<usize, Stop> {
        if pointer < LOWEST || !regions::may_be(pointer) {
            return Ok(end);
        }
        *self.room.list.get_mut(end).ok_or(Stop::TooLarge)? = pointer;
        Ok(end + 1)
    }

    /// As [`Walk::push`], unless the part that was begun has it.
    fn push_new(&mut self, end: usize, pointer: usize) -> Result<usize, Stop> {
        if self.is_known(pointer) { Ok(end) } else { self.push(end, pointer) }
    }

    /// A part of the list begins with the entries from `from` to `end`.
    fn begin(&mut self, from: usize, end: usize) {
        self.room.part += 1;
        for i in from..end {
            self.is_known(self.at(i));
        }
    }

    /// Whether the part has that pointer; from now on it has.
    fn is_known(&mut self, pointer: usize) -> bool {
        let start = pointer.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24;
        // Never full: it has room for twice as many as the list.
        for at in start..start + SEEN {
            let Some(slot) = self.room.seen.get_mut(at % SEEN) else { return false };
            if slot.1 != self.room.part {
                *slot = (pointer, self.room.part);
                return false;
            }
            if slot.0 == pointer {
                return true;
            }
        }
        false
    }

    /// Puts the pointers of a path into the list behind the first `used` entries; returns how many there are.
    fn pointers(&mut self, path: u32, used: usize) -> Result<usize, Stop> {
        let mut end = used;
        match self.sets.path(path).ok_or(Stop::Unknown)? {
            Path::Param(i) => {
                let value = self.arguments.get(i as usize).copied().ok_or(Stop::Unknown)?;
                end = self.push(end, value as usize)?;
            }
            Path::Global(g) => {
                let address = self.global(g).ok_or(Stop::Unknown)?;
                end = self.push(end, address)?;
            }
            Path::Variadic => end = self.push(end, self.frame)?,
            Path::Deref { from, at } => {
                self.known(from)?;
                let count = self.pointers(from, used)?;
                end += count;
                self.begin(end, end);
                for i in used..used + count {
                    end = self.follow(self.at(i), at, end)?;
                }
                for i in used + count..end {
                    let pointer = self.at(i);
                    if let Some(place) = self.room.list.get_mut(i - count) {
                        *place = pointer;
                    }
                }
                end -= count;
            }
            Path::Closure { from, first, count } => {
                self.known(from)?;
                end += self.pointers(from, used)?;
                self.begin(used, end);
                let mut i = used;
                while i < end {
                    for n in first..first.saturating_add(count) {
                        let at = self.sets.offset(n).ok_or(Stop::Unknown)?;
                        end = self.follow(self.at(i), at, end)?;
                    }
                    i += 1;
                }
            }
            Path::Reach { from } => {
                end += self.pointers(from, used)?;
                self.begin(used, end);
                let mut i = used;
                while i < end {
                    end = self.reach(self.at(i), end)?;
                    i += 1;
                }
            }
        }
        Ok(end - used)
    }

    /// What unnamed arguments point to can't be told: they are in registers.
    fn known(&self, path: u32) -> Result<(), Stop> {
        if self.sets.path(path) == Some(Path::Variadic) { Err(Stop::Unknown) } else { Ok(()) }
    }

    fn global(&self, number: u32) -> Option<usize> {
        match self.sets.global(number)?.0 {
            Lies::Here(n) => variables(self.record).get(n as usize).map(|v| v.address),
            Lies::Thread(n) => Some((self.record.resolve?)(n)),
            Lies::Elsewhere => None,
        }
    }

    /// Appends the pointers that lie there, unless the part has them.
    fn follow(&mut self, pointer: usize, at: Offset, mut end: usize) -> Result<usize, Stop> {
        match at {
            Offset::At(at) => {
                self.step()?;
                let next = self.memory.number(pointer.wrapping_add_signed(at as isize), WORD).unwrap_or(0);
                self.push_new(end, next as usize)
            }
            Offset::Every { stride, at } => {
                let object = self.object(pointer);
                for address in every(&object, pointer, stride, at) {
                    self.step()?;
                    let next = self.memory.number(address, WORD).unwrap_or(0);
                    end = self.push_new(end, next as usize)?;
                }
                Ok(end)
            }
        }
    }

    /// Appends the objects that the words of an object point into.
    fn reach(&mut self, pointer: usize, mut end: usize) -> Result<usize, Stop> {
        let object = self.object(pointer);
        let mut address = object.start.next_multiple_of(WORD);
        let mut buffer = [0_u64; 32];
        while address < object.end() {
            let room = (object.end() - address).min(size_of_val(&buffer));
            let n = self.memory.read(address, &mut buffer, room) / WORD;
            for word in buffer.get(..n).unwrap_or_default() {
                let pointer = *word as usize;
                self.step()?;
                if pointer < LOWEST || !regions::may_be(pointer) {
                    continue;
                }
                // An object counts once, whichever of its bytes is pointed to.
                let known = objects::find(pointer).map(|o| o.start);
                let on_stack = known.is_none() && self.stack(pointer).is_some();
                if known.is_some() || on_stack || self.memory.read(pointer, &mut [0], 1) == 1 {
                    end = self.push_new(end, known.unwrap_or(pointer))?;
                }
            }
            address += room.max(WORD);
        }
        Ok(end)
    }
}

/// From where to where.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
    /// Nobody knows the object.
    is_guess: bool,
}

impl Span {
    fn of(object: &Object) -> Span {
        Span { start: object.start, end: object.end(), is_guess: false }
    }

    fn end(&self) -> usize {
        self.end.max(self.start)
    }
}

#[derive(Clone, Copy)]
enum Length {
    Bytes(usize),
    Text,
    Rest,
    Object,
}

/// The variables of a module.
pub fn variables(record: &AccessRecord) -> &[Variable] {
    if record.variables.is_null() {
        return &[];
    }
    // SAFETY: the constant array that the pass emitted.
    unsafe { core::slice::from_raw_parts(record.variables, record.variable_count as usize) }
}

/// The addresses in an object that are `at` behind the pointer, or any number of strides away.
fn every(object: &Span, pointer: usize, stride: u64, at: u64) -> impl Iterator<Item = usize> + use<> {
    let stride = (stride as usize).max(1);
    let anchor = pointer.wrapping_add(at as usize);
    let (start, end) = (object.start, object.end());
    // The lowest address that is not below the object and as far from the anchor as strides are.
    let first = match anchor.checked_sub(start) {
        Some(above) => start + above.checked_rem(stride).unwrap_or(0),
        None => anchor,
    };
    (first..end.max(first)).step_by(stride)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use unseen_abi::access::words;
    use unseen_abi::deps;

    /// Objects of some words each, some of which point to words of others.
    struct Heap(Vec<Box<[usize]>>);

    impl Heap {
        fn new(next: &mut impl FnMut(usize) -> usize) -> Heap {
            let count = 1 + next(8);
            // Whatever is pointed to, two words follow.
            let mut heap = Heap((0..count).map(|_| vec![0; 3 + next(5)].into_boxed_slice()).collect());
            for i in 0..count {
                for word in 0..heap.0[i].len() {
                    let target = next(count);
                    let at = heap.address(target, next(heap.0[target].len() - 2));
                    heap.0[i][word] = if next(2) == 0 { next(100) } else { at };
                }
            }
            for object in &heap.0 {
                objects::insert(object.as_ptr().addr(), object.len() * WORD, objects::Kind::Heap);
            }
            heap
        }

        fn address(&self, object: usize, word: usize) -> usize {
            self.0[object].as_ptr().addr() + word * WORD
        }

        fn object(&self, address: usize) -> Option<std::ops::Range<usize>> {
            let ranges = self.0.iter().map(|o| o.as_ptr().addr()..o.as_ptr().addr() + o.len() * WORD);
            ranges.into_iter().find(|r| r.contains(&address))
        }

        fn word(&self, address: usize) -> Option<usize> {
            let object =
                self.0.iter().find(|o| (o.as_ptr().addr()..o.as_ptr().addr() + o.len() * WORD).contains(&address))?;
            object.get((address - object.as_ptr().addr()) / WORD).copied()
        }

        /// What a path says, put as plainly as can be.
        fn pointers(&self, paths: &[deps::Path], path: u32, param: usize) -> BTreeSet<usize> {
            let pointer = |value: &usize| self.object(*value).is_some();
            let at = |p: usize, o: &deps::Offset| -> Vec<usize> {
                match *o {
                    deps::Offset::At(n) => vec![p.wrapping_add_signed(n as isize)],
                    deps::Offset::Every { stride, at } => {
                        let steps = |a: &usize| (*a as i64 - (p as u64 + at) as i64) % stride as i64 == 0;
                        self.object(p).unwrap().filter(steps).collect()
                    }
                }
            };
            let follow = |from: &BTreeSet<usize>, o: &deps::Offset| -> BTreeSet<usize> {
                let places = from.iter().flat_map(|p| at(*p, o));
                places.filter_map(|a| self.word(a)).filter(pointer).collect()
            };
            match &paths[path as usize] {
                deps::Path::Deref { from, at } => follow(&self.pointers(paths, *from, param), at),
                deps::Path::Closure { from, at } => {
                    let mut all = self.pointers(paths, *from, param);
                    loop {
                        let more: BTreeSet<usize> = at.iter().flat_map(|o| follow(&all, o)).collect();
                        if more.is_subset(&all) {
                            return all;
                        }
                        all.extend(more);
                    }
                }
                deps::Path::Reach { from } => {
                    let mut all = self.pointers(paths, *from, param);
                    loop {
                        let objects = all.iter().filter_map(|p| self.object(*p));
                        let words = objects.flat_map(|o| o.step_by(WORD)).filter_map(|a| self.word(a));
                        let more: BTreeSet<usize> = words.filter(pointer).collect();
                        if more.is_subset(&all) {
                            return all;
                        }
                        all.extend(more);
                    }
                }
                _ => BTreeSet::from([param]),
            }
        }
    }

    fn record() -> AccessRecord {
        AccessRecord {
            size: size_of::<AccessRecord>() as u32,
            units: 1,
            id: [0; 16],
            words: std::ptr::null(),
            word_count: 0,
            variables: std::ptr::null(),
            variable_count: 0,
            resolve: None,
            gate: std::ptr::null_mut(),
            countdown: std::ptr::null_mut(),
        }
    }

    fn walk(words: &[u64], arguments: &[u64], bytes: &mut Bytes) -> Result<Walked, Stop> {
        let (record, frame) = (record(), crate::arch::stack_pointer());
        let room = &mut Box::new(Room { list: [0; POINTERS], seen: [(0, 0); SEEN], part: 0 });
        regions::look();
        let (memory, sets) = (Memory::new(), Sets(words));
        Walk { sets, record: &record, arguments, frame, frames: &[frame], room, bytes, memory, steps: 0 }.run(0)
    }

    fn set(paths: Vec<deps::Path>, places: &[deps::Place]) -> Vec<u64> {
        let reads = places.iter().map(|p| deps::Item { what: deps::What::Memory(*p), at: None, via: None }).collect();
        let function = deps::Function { reads, ..deps::Function::default() };
        words(&deps::Deps { paths, functions: vec![function], ..deps::Deps::default() }, &[])
    }

    #[test]
    fn walks_agree_with_the_meaning_of_paths() {
        let mut state = 1_u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        for round in 0..600 {
            let heap = Heap::new(&mut next);
            let offset = |next: &mut dyn FnMut(usize) -> usize| match next(2) {
                0 => deps::Offset::At(8 * next(3) as i64),
                _ => deps::Offset::Every { stride: 8 * (1 + next(2) as u64), at: 0 },
            };
            let mut paths = vec![deps::Path::Param(0)];
            // What is reached is not followed any further: nothing is left that could be.
            let count = next(4) as u32;
            for from in 0..count {
                paths.push(match next(4) {
                    0 => deps::Path::Closure { from, at: vec![offset(&mut next), offset(&mut next)] },
                    1 if from + 1 == count => deps::Path::Reach { from },
                    _ => deps::Path::Deref { from, at: offset(&mut next) },
                });
            }
            let path = paths.len() as u32 - 1;
            let size = 1 + next(8) as u64;
            let whole = matches!(paths[path as usize], deps::Path::Reach { .. });
            let extent = if whole { deps::Extent::Object } else { deps::Extent::Bytes(size) };
            let param = heap.address(0, next(heap.0[0].len() - 2));
            let mut expected = BTreeSet::new();
            for pointer in heap.pointers(&paths, path, param) {
                if whole {
                    expected.extend(heap.object(pointer).unwrap());
                } else {
                    expected.extend(pointer..pointer + size as usize);
                }
            }
            let words = set(paths.clone(), &[deps::Place { path, offset: deps::Offset::At(0), extent }]);
            let mut bytes = Bytes::new();
            let walked = walk(&words, &[param as u64], &mut bytes).unwrap();
            assert_eq!(walked.bytes, expected.len() as u64, "round {round}: {paths:?}");
            let is_in = |a: &usize| bytes.read(*a, 1).is_ok_and(|r| r.missed == 0);
            assert!(expected.iter().all(is_in), "round {round}: {paths:?}");
            for object in &heap.0 {
                objects::remove(object.as_ptr().addr());
            }
        }
    }

    #[test]
    fn extents_are_read_from_memory_and_arguments() {
        let text = b"seven!!\0rest of it".to_vec();
        let lengths = [3_u32, 5];
        let place = |extent| deps::Place { path: 0, offset: deps::Offset::At(0), extent };
        let paths = || vec![deps::Path::Param(0), deps::Path::Param(1)];
        let size = |extent| {
            let arguments = [text.as_ptr().addr() as u64, lengths.as_ptr().addr() as u64, 4];
            walk(&set(paths(), &[place(extent)]), &arguments, &mut Bytes::new()).unwrap().bytes
        };
        assert_eq!(size(deps::Extent::Text), 8);
        assert_eq!(size(deps::Extent::ByParam { param: 2, scale: 3 }), 12);
        assert_eq!(size(deps::Extent::ByMemory { path: 1, at: 4, size: 4, scale: 2 }), 10);
    }

    #[test]
    fn pointers_into_nowhere_add_nothing_and_do_not_fault() {
        let deref = deps::Path::Deref { from: 0, at: deps::Offset::At(0) };
        let closure = deps::Path::Closure { from: 0, at: vec![deps::Offset::At(0)] };
        for path in [deref, closure] {
            let place = deps::Place { path: 1, offset: deps::Offset::At(0), extent: deps::Extent::Text };
            let words = set(vec![deps::Path::Param(0), path], &[place]);
            for wild in [0, 8, 0x10_0000, 0x7fff_ffff_f000, u64::MAX - 4] {
                assert_eq!(walk(&words, &[wild], &mut Bytes::new()), Ok(Walked::default()), "{wild:#x}");
            }
        }
    }

    #[test]
    fn what_can_not_be_walked_is_said_to_be_so() {
        let paths = vec![deps::Path::Variadic, deps::Path::Deref { from: 0, at: deps::Offset::At(0) }];
        let place = deps::Place { path: 1, offset: deps::Offset::At(0), extent: deps::Extent::Text };
        assert_eq!(walk(&set(paths, &[place]), &[], &mut Bytes::new()), Err(Stop::Unknown));
        let object = vec![0_u8; MOST + 1];
        objects::insert(object.as_ptr().addr(), object.len(), objects::Kind::Heap);
        let every = deps::Offset::Every { stride: 16, at: 0 };
        let place = deps::Place { path: 0, offset: every, extent: deps::Extent::Bytes(4) };
        let arguments = [object.as_ptr().addr() as u64];
        let walked = walk(&set(vec![deps::Path::Param(0)], &[place]), &arguments, &mut Bytes::new());
        objects::remove(object.as_ptr().addr());
        assert_eq!(walked, Err(Stop::TooLarge));
    }
}
