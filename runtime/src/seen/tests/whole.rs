//! Numbers of whole states: one for each, whatever their hashes are.

use super::{ID, Place, c_path};
use crate::seen::{Refused, Whole};
use std::collections::{HashMap, HashSet};

fn open(place: &Place, most: u64) -> Result<Whole, Refused> {
    Whole::open(&c_path(&place.path()), &ID, most)
}

/// States of up to 40 words, many of which begin alike, with hashes that mostly say nothing.
fn states(count: u64) -> impl Iterator<Item = (u128, Vec<u64>)> {
    let mut random = super::Numbers(3);
    (0..count).map(move |_| {
        let words: Vec<u64> = (0..random.below(40)).map(|i| if i < 30 { i } else { random.below(3) }).collect();
        (u128::from(random.below(2)) << 70 | 5, words)
    })
}

#[test]
fn two_states_have_two_numbers_even_if_they_have_one_hash() {
    let place = Place::new();
    let [one, other] = [open(&place, 0).unwrap(), open(&place, 0).unwrap()];
    let (mut numbers, mut used) = (HashMap::new(), HashSet::new());
    for (i, (hash, words)) in states(4000).enumerate() {
        // As if there were two processes.
        let whole = if i % 3 == 0 { &one } else { &other };
        let number = whole.number(hash, &words).unwrap();
        let known = *numbers.entry((hash, words)).or_insert_with(|| {
            assert!(used.insert(number), "{number} has another state");
            number
        });
        assert_eq!(number, known);
    }
    assert!(numbers.len() > 200, "{}", numbers.len());
    drop([one, other]);
    let again = open(&place, 0).unwrap();
    assert!(numbers.into_iter().all(|((hash, words), number)| again.number(hash, &words) == Some(number)));
}

#[test]
fn another_file_has_other_names() {
    let place = Place::new();
    let names = || open(&place, 0).unwrap().name(7, &[1, 2, 3]).unwrap();
    let first = names();
    assert_eq!(names(), first);
    std::fs::remove_file(place.path().with_extension("seen-whole")).unwrap();
    assert_ne!(names(), first);
}

#[test]
fn threads_agree_on_numbers() {
    let place = Place::new();
    let all: Vec<(u128, Vec<u64>)> = states(2000).collect();
    let numbers = |_| {
        let whole = open(&place, 0).unwrap();
        all.iter().map(|(hash, words)| whole.number(*hash, words).unwrap()).collect::<Vec<u64>>()
    };
    let lists: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|i| scope.spawn(move || numbers(i))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(lists.iter().all(|list| *list == lists[0]));
}

#[test]
fn what_finds_no_room_has_no_number() {
    let place = Place::new();
    let whole = open(&place, 3 << 19).unwrap();
    let number = |i: u64| whole.number(u128::from(i) * 77, &[i; 20]);
    let numbered = (0..10_000).take_while(|i| number(*i).is_some()).count() as u64;
    assert!((1000..4000).contains(&numbered), "{numbered}");
    assert_eq!(number(numbered + 1), None);
    assert!((0..numbered).all(|i| number(i).is_some()), "what has a number keeps it");
    assert!(std::fs::metadata(place.path().with_extension("seen-whole")).unwrap().len() <= 3 << 19);
}

/// Bytes of the file are changed at random: it never panics, never reads elsewhere, never gives two states one number.
#[test]
fn a_damaged_file_gives_no_wrong_numbers() {
    let mut random = super::Numbers(9);
    for _ in 0..60 {
        let place = Place::new();
        let path = place.path().with_extension("seen-whole");
        let known: Vec<(u128, Vec<u64>)> = states(300).collect();
        let whole = open(&place, 0).unwrap();
        let mut used: HashMap<u64, (u128, &[u64])> =
            known.iter().map(|(hash, words)| (whole.number(*hash, words).unwrap(), (*hash, &words[..]))).collect();
        drop(whole);
        let mut bytes = std::fs::read(&path).unwrap();
        // Heads of lists, records, and how many there are.
        for _ in 0..200 {
            let from = [2048, 4096 + 40, 4096 + (1 << 20)][random.below(3) as usize];
            let at = from + random.below(if from == 4096 + (1 << 20) { 60_000 } else { 8 }) as usize;
            if let Some(byte) = bytes.get_mut(at) {
                *byte = random.below(256) as u8;
            }
        }
        std::fs::write(&path, bytes).unwrap();
        let whole = open(&place, 0).unwrap();
        for (hash, words) in &known {
            if let Some(number) = whole.number(*hash, words) {
                assert_eq!(used.entry(number).or_insert((*hash, words)), &(*hash, &words[..]));
            }
        }
    }
}
