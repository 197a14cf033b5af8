use super::*;
use crate::access::{objects, regions};
use crate::memory::WORD;
use std::collections::BTreeSet;
use unseen_abi::deps;
use unseen_abi::sets::words;

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
        let at = |p: usize, o: &Offset| -> Vec<usize> {
            match *o {
                Offset::At(n) => vec![p.wrapping_add_signed(n as isize)],
                Offset::Every { stride, at } => {
                    let steps = |a: &usize| (*a as i64 - (p as u64 + at) as i64) % stride as i64 == 0;
                    self.object(p).unwrap().filter(steps).collect()
                }
            }
        };
        let follow = |from: &BTreeSet<usize>, o: &Offset| -> BTreeSet<usize> {
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

fn table() -> Table {
    let (words, variables) = (std::ptr::null(), std::ptr::null());
    Table { words, word_count: 0, variables, variable_count: 0, resolve: None }
}

fn walk(words: &[u64], arguments: &[u64], bytes: &mut Bytes) -> Result<Walked, Stop> {
    let (table, frame) = (&table(), crate::arch::stack_pointer());
    let room = &mut Room::new();
    regions::look();
    let mut blocks = crate::memory::Room::new();
    let (memory, sets) = (Memory::new(&mut blocks), Sets(words));
    Walk { sets, table, arguments, frame, frames: &[frame], room, bytes, memory, steps: 0 }.run(0)
}

fn set(paths: Vec<deps::Path>, places: &[Place]) -> Vec<u64> {
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
            0 => Offset::At(8 * next(3) as i64),
            _ => Offset::Every { stride: 8 * (1 + next(2) as u64), at: 0 },
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
        let extent = if whole { Extent::Object } else { Extent::Bytes(size) };
        let param = heap.address(0, next(heap.0[0].len() - 2));
        let mut expected = BTreeSet::new();
        for pointer in heap.pointers(&paths, path, param) {
            if whole {
                expected.extend(heap.object(pointer).unwrap());
            } else {
                expected.extend(pointer..pointer + size as usize);
            }
        }
        let words = set(paths.clone(), &[Place { path, offset: Offset::At(0), extent }]);
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
    let place = |extent| Place { path: 0, offset: Offset::At(0), extent };
    let paths = || vec![deps::Path::Param(0), deps::Path::Param(1)];
    let size = |extent| {
        let arguments = [text.as_ptr().addr() as u64, lengths.as_ptr().addr() as u64, 4];
        walk(&set(paths(), &[place(extent)]), &arguments, &mut Bytes::new()).unwrap().bytes
    };
    assert_eq!(size(Extent::Text), 8);
    assert_eq!(size(Extent::ByParam { param: 2, scale: 3 }), 12);
    assert_eq!(size(Extent::ByMemory { path: 1, at: 4, size: 4, scale: 2 }), 10);
}

#[test]
fn a_long_text_reaches_to_the_end_of_its_object() {
    let mut text = vec![b'x'; 3 * LONG_TEXT];
    text[2 * LONG_TEXT] = 0;
    let place = deps::Place { path: 0, offset: deps::Offset::At(0), extent: deps::Extent::Text };
    let words = set(vec![deps::Path::Param(0)], &[place]);
    let size = || walk(&words, &[text.as_ptr().addr() as u64], &mut Bytes::new()).unwrap().bytes as usize;
    // Nobody knows where it ends but the text itself.
    assert_eq!(size(), 2 * LONG_TEXT + 1);
    objects::insert(text.as_ptr().addr(), text.len(), objects::Kind::Heap);
    assert_eq!(size(), text.len());
    objects::remove(text.as_ptr().addr());
}

#[test]
fn pointers_into_nowhere_add_nothing_and_do_not_fault() {
    let deref = deps::Path::Deref { from: 0, at: Offset::At(0) };
    let closure = deps::Path::Closure { from: 0, at: vec![Offset::At(0)] };
    for path in [deref, closure] {
        let place = Place { path: 1, offset: Offset::At(0), extent: Extent::Text };
        let words = set(vec![deps::Path::Param(0), path], &[place]);
        for wild in [0, 8, 0x10_0000, 0x7fff_ffff_f000, u64::MAX - 4] {
            assert_eq!(walk(&words, &[wild], &mut Bytes::new()), Ok(Walked::default()), "{wild:#x}");
        }
    }
}

#[test]
fn what_can_not_be_walked_is_said_to_be_so() {
    let paths = vec![deps::Path::Variadic, deps::Path::Deref { from: 0, at: Offset::At(0) }];
    let place = Place { path: 1, offset: Offset::At(0), extent: Extent::Text };
    assert_eq!(walk(&set(paths, &[place]), &[], &mut Bytes::new()), Err(Stop::Unknown));
    let object = vec![0_u8; MOST + 1];
    objects::insert(object.as_ptr().addr(), object.len(), objects::Kind::Heap);
    let every = Offset::Every { stride: 16, at: 0 };
    let place = Place { path: 0, offset: every, extent: Extent::Bytes(4) };
    let arguments = [object.as_ptr().addr() as u64];
    let walked = walk(&set(vec![deps::Path::Param(0)], &[place]), &arguments, &mut Bytes::new());
    objects::remove(object.as_ptr().addr());
    assert_eq!(walked, Err(Stop::TooLarge));
}
