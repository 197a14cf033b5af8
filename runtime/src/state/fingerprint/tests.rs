use super::*;
use std::collections::HashMap;
use unseen_abi::deps;
use unseen_abi::sets::{Extent, Offset, Place, Table, words};

/// Sets as the pass writes them, for one unit.
struct Told {
    words: Vec<u64>,
    unit: Unit,
}

fn told(paths: Vec<deps::Path>, reads: &[Place], writes: &[Place]) -> Told {
    let items = |places: &[Place]| -> Vec<deps::Item> {
        places.iter().map(|p| deps::Item { what: deps::What::Memory(*p), at: None, via: None }).collect()
    };
    let functions = [reads, writes].map(|p| deps::Function { reads: items(p), ..deps::Function::default() });
    let words = words(&deps::Deps { paths, functions: functions.into(), ..deps::Deps::default() }, &[]);
    Told { words, unit: Unit { params: 0, pointers: 0, first: 0, tests: 1, flags: 0, exact: 0 } }
}

impl Told {
    fn state(&self, arguments: &[u64]) -> Option<State> {
        let (words, word_count) = (self.words.as_ptr(), self.words.len() as u64);
        let sets = Table { words, word_count, variables: std::ptr::null(), variable_count: 0, resolve: None };
        let (gates, desks) = (std::ptr::null_mut(), std::ptr::null_mut());
        let (list, kinds, names) = (std::ptr::null(), std::ptr::null(), std::ptr::null());
        let record = StateRecord {
            size: 0,
            units: 1,
            id: [0; 16],
            sets,
            list,
            gates,
            desks,
            kinds,
            names,
            names_length: 0,
            hits: None,
        };
        // SAFETY: as the pass would write it.
        unsafe { state(&record, 0, &self.unit, arguments, None) }
    }
}

fn at(path: u32, at: i64, bytes: u64) -> Place {
    Place { path, offset: Offset::At(at), extent: Extent::Bytes(bytes) }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

#[repr(C)]
struct Node {
    next: usize,
    /// Read by nobody.
    noise: u64,
    value: u64,
}

/// A list, or a circle, and a node that may be in it or not: two states have the same name if and only if they are the same but for
/// where things lie.
#[test]
fn states_have_the_same_name_if_they_differ_in_nothing_but_addresses() {
    let closure = deps::Path::Closure { from: 0, at: vec![Offset::At(0)] };
    let paths = vec![deps::Path::Param(0), closure, deps::Path::Param(1)];
    let told = told(paths, &[at(1, 0, 8), at(1, 16, 8), at(2, 16, 8)], &[]);
    let mut random = Random(7);
    let (mut names, mut meanings): (HashMap<State, String>, HashMap<String, State>) = Default::default();
    let mut kept = Vec::new();
    for round in 0..6000 {
        let count = 1 + random.below(4);
        // Boxes that stay: addresses are never the same twice.
        let mut nodes: Vec<Box<Node>> = (0..count)
            .map(|_| Box::new(Node { next: 0, noise: random.below(1000) as u64, value: random.below(2) as u64 }))
            .collect();
        let address = |nodes: &[Box<Node>], i: usize| std::ptr::from_ref(&*nodes[i]).addr();
        let next: Vec<Option<usize>> =
            (0..count).map(|_| Some(random.below(count + 1)).filter(|n| *n < count)).collect();
        for i in 0..count {
            nodes[i].next = next[i].map_or(0, |n| address(&nodes, n));
        }
        let (first, other) = (random.below(count), random.below(count));
        let mut order = vec![first];
        while let Some(n) = next[*order.last().unwrap()].filter(|n| !order.contains(n)) {
            order.push(n);
        }
        let number = |i: usize| order.iter().position(|o| *o == i);
        let mut meaning = String::new();
        for i in &order {
            meaning += &format!("{} -> {:?}; ", nodes[*i].value, next[*i].map(number));
        }
        match number(other) {
            Some(n) => meaning += &format!("node {n}"),
            None => meaning += &format!("apart {}", nodes[other].value),
        }
        let name = told.state(&[address(&nodes, first) as u64, address(&nodes, other) as u64]).unwrap();
        assert_eq!(names.entry(name).or_insert(meaning.clone()), &meaning, "round {round}: one name for two states");
        assert_eq!(meanings.entry(meaning.clone()).or_insert(name), &name, "round {round}: two names for {meaning}");
        kept.push(nodes);
    }
    assert!(meanings.len() > 100, "{}", meanings.len());
}

/// What is written through one pointer and read through another depends on whether they lead to the same place.
#[test]
fn what_is_only_written_tells_who_is_who() {
    let paths = vec![deps::Path::Param(0), deps::Path::Param(1)];
    let told = told(paths, &[at(0, 0, 8)], &[at(1, 0, 8)]);
    let cells = [5_u64, 5, 5, 5];
    let cell = |i: usize| std::ptr::from_ref(&cells[i]).addr() as u64;
    let state = |a, b| told.state(&[cell(a), cell(b)]).unwrap();
    assert_eq!(state(0, 1), state(2, 0));
    assert_eq!(state(0, 0), state(3, 3));
    assert_ne!(state(0, 0), state(0, 1));
    // Halfway, too.
    let half = told.state(&[cell(0), cell(0) + 4]).unwrap();
    assert_ne!(half, state(0, 0));
    assert_ne!(half, state(0, 1));
}

#[test]
fn texts_and_lengths_count_as_far_as_they_reach() {
    let length = Extent::ByParam { param: 1, scale: 2 };
    let text = told(vec![deps::Path::Param(0)], &[Place { path: 0, offset: Offset::At(0), extent: Extent::Text }], &[]);
    let bytes = told(vec![deps::Path::Param(0)], &[Place { path: 0, offset: Offset::At(0), extent: length }], &[]);
    let (a, b) = (b"same\0one".to_vec(), b"same\0two".to_vec());
    let of = |told: &Told, v: &[u8], n: u64| told.state(&[v.as_ptr().addr() as u64, n]);
    assert_eq!(of(&text, &a, 0), of(&text, &b, 0));
    assert_eq!(of(&bytes, &a, 2), of(&bytes, &b, 2));
    assert_ne!(of(&bytes, &a, 3), of(&bytes, &b, 3));
    assert_ne!(of(&bytes, &a, 2), of(&bytes, &a, 1));
    // No number that anybody means.
    assert_eq!(of(&bytes, &a, u64::MAX / 2), None);
}

#[test]
fn pointers_into_nowhere_have_states_too() {
    let paths = vec![deps::Path::Param(0), deps::Path::Deref { from: 0, at: Offset::At(0) }];
    let told = told(paths, &[at(0, 0, 8), at(1, 0, 4)], &[]);
    let state = |p: u64| told.state(&[p]).unwrap();
    assert_eq!(state(0), state(8));
    assert_ne!(state(0), state(0x7fff_ffff_f000));
    let wild = [0x10_0000_u64, 0x20_0000];
    let address = |i: usize| std::ptr::from_ref(&wild[i]).addr() as u64;
    assert_eq!(state(address(0)), state(address(0)));
    assert_ne!(state(address(0)), state(0));
}

#[test]
fn what_can_not_be_told_is_said_to_be_so() {
    let every = Offset::Every { stride: 8, at: 0 };
    let unknown = |path: deps::Path, place: Place| {
        let cell = [0_u64; 4];
        told(vec![deps::Path::Param(0), path], &[place], &[]).state(&[cell.as_ptr().addr() as u64])
    };
    let param = deps::Path::Param(0);
    assert!(unknown(param.clone(), at(1, 0, 8)).is_some());
    assert_eq!(unknown(param.clone(), Place { path: 1, offset: every, extent: Extent::Bytes(8) }), None);
    assert_eq!(unknown(param.clone(), Place { path: 1, offset: Offset::At(0), extent: Extent::Object }), None);
    assert_eq!(unknown(deps::Path::Reach { from: 0 }, at(1, 0, 8)), None);
    let mut opaque = told(vec![param], &[], &[]);
    assert!(opaque.state(&[0]).is_some());
    opaque.unit.flags = OPAQUE;
    assert_eq!(opaque.state(&[0]), None);
}
