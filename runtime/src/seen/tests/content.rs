//! What is found, and what is not.

use super::{Numbers, Place, contains, insert};
use crate::seen::memory::Memory;
use crate::seen::table::{Outcome, Table};
use crate::seen::{Key, Narrow, Seen, State, Wide};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use unseen_abi::seen::file::Seen as File;
use unseen_abi::seen::{Content, Format, GROUPED, Mixed, NarrowFormat, WideFormat};

/// Keys of few different values, so that they repeat, and of all kinds: many and few units, small and large states.
fn key(numbers: &mut Numbers, spread: u64) -> Key {
    let (kind, value) = (numbers.next() % 8, numbers.next() % spread);
    let unit = (value % 5) as u32;
    match kind {
        0 => Key::Narrow(Narrow { unit, state: value.wrapping_mul(0x0123_4567_89ab_cdef) }),
        1 => Key::Narrow(Narrow { unit: value as u32, state: 0 }),
        2 => Key::Narrow(Narrow { unit: !unit, state: value }),
        3 => Key::Wide(Wide { unit, state: value.into() }),
        4 => Key::Wide(Wide { unit: !unit, state: u128::from(value) << 64 }),
        _ => Key::Narrow(Narrow { unit, state: value }),
    }
}

#[test]
fn it_is_what_a_set_is() {
    for (round, spread) in [10, 3000, 1 << 17, 1 << 19].into_iter().enumerate() {
        let place = Place::new();
        let mut seen = if round == 0 { Seen::in_memory(0).unwrap() } else { place.open() };
        let (mut model, mut numbers) = (HashSet::new(), Numbers(round as u64));
        for i in 0..200_000 {
            let one = key(&mut numbers, spread);
            if numbers.next() % 3 == 0 {
                assert_eq!(contains(&seen, one), model.contains(&one), "{one:?} after {i}");
            } else {
                assert_eq!(insert(&seen, one), model.insert(one), "{one:?} after {i}");
            }
            if round > 0 && i % 50_000 == 49_999 {
                seen = place.open();
            }
        }
        assert_eq!(seen.count(), model.len() as u64);
        assert!(model.iter().all(|one| contains(&seen, *one)));
    }
}

#[test]
fn the_driver_reads_what_was_put_in() {
    let place = Place::new();
    let seen = place.open();
    let (mut model, mut numbers) = (HashSet::new(), Numbers(7));
    for _ in 0..200_000 {
        let one = key(&mut numbers, 1 << 18);
        insert(&seen, one);
        model.insert(one);
    }
    let bytes = std::fs::read(place.path()).unwrap();
    let narrow: Vec<_> = File::read::<NarrowFormat>(&bytes).unwrap().keys::<NarrowFormat>().map(Key::Narrow).collect();
    let bytes = std::fs::read(place.wide_path()).unwrap();
    let wide: Vec<_> = File::read::<WideFormat>(&bytes).unwrap().keys::<WideFormat>().collect();
    assert_eq!(narrow.len() + wide.len(), model.len());
    assert!(narrow.into_iter().chain(wide).collect::<HashSet<_>>() == model);
}

#[test]
fn the_runtime_reads_what_the_driver_made() {
    let keys: Vec<_> = (0..800_000).map(|i| Narrow { unit: i % 3, state: u64::from(i) << 20 }).collect();
    let (bytes, left) = unseen_abi::seen::file::make::<NarrowFormat>(super::ID, 1, &keys);
    // Few are too far from their lines.
    assert!(left.len() < 200, "{}", left.len());
    let place = Place::new();
    std::fs::write(place.path(), bytes).unwrap();
    let wide: Vec<_> = left.into_iter().map(Key::Narrow).collect();
    let (bytes, left) = unseen_abi::seen::file::make::<WideFormat>(super::ID, 1, &wide);
    assert_eq!(left.len(), 0);
    std::fs::write(place.wide_path(), bytes).unwrap();
    let seen = place.open();
    assert!(keys.iter().all(|one| seen.contains(*one)));
    assert!((0..400_000).all(|i| seen.insert(Narrow { unit: 3, state: i })));
    assert!(keys.iter().all(|one| seen.contains(*one)));
}

#[test]
fn a_million_states_take_at_most_12_bytes_each() {
    let place = Place::new();
    let seen = place.open();
    let mut worst: f64 = 0.0;
    for i in 0..1_300_000 {
        assert!(seen.insert(Narrow { unit: 1, state: i }));
        if i % 10_000 == 0 && i >= 1_000_000 {
            let file = std::fs::metadata(place.path()).unwrap().len();
            assert!(file >= seen.narrow.room() * 64);
            worst = worst.max(file as f64 / i as f64);
        }
    }
    assert!(worst <= 12.0, "{worst}");
    // No more than a handful were too far from their lines.
    assert!(seen.wide.count() < 1000, "{}", seen.wide.count());
}

#[test]
fn threads_put_in_at_once() {
    const EACH: u64 = 100_000;
    let place = Place::new();
    let seen = place.open();
    let firsts = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (seen, firsts) = (&seen, &firsts);
            scope.spawn(move || {
                let mut new = 0;
                for i in 0..EACH {
                    // Half of them are of all threads, in the same order: who is first?
                    let state = if i % 2 == 0 { i } else { i | (thread + 1) << 32 };
                    let key = Narrow { unit: 9, state };
                    new += u64::from(seen.insert(key));
                    assert!(seen.contains(key));
                }
                firsts.fetch_add(new, Relaxed);
            });
        }
    });
    for i in 0..EACH {
        let states = (0..4).map(|thread| if i % 2 == 0 { i } else { i | (thread + 1) << 32 });
        states.for_each(|state| assert!(seen.contains(Narrow { unit: 9, state })));
        assert!(!seen.contains(Narrow { unit: 9, state: i | 5 << 32 }));
    }
    let distinct = EACH / 2 + EACH / 2 * 4;
    let firsts = firsts.into_inner();
    // Several may be first at the same time, but not often.
    assert!((distinct..distinct + distinct / 50).contains(&firsts), "{firsts} of {distinct}");
}

#[test]
fn a_bounded_set_forgets_but_never_invents() {
    const MOST: u64 = 3 << 20;
    let place = Place::new();
    for seen in [place.try_open(MOST).unwrap(), Seen::in_memory(MOST).unwrap()] {
        let mut forgotten = 0;
        for i in 0..400_000_u64 {
            assert!(seen.insert(Narrow { unit: 2, state: i }), "{i}");
            assert!(!seen.contains(Narrow { unit: 2, state: i + 1 }));
            // Even when it is full, what comes is remembered.
            forgotten += u64::from(!seen.contains(Narrow { unit: 2, state: i }));
        }
        assert_eq!(forgotten, 0);
        let left = (0..400_000).filter(|i| seen.contains(Narrow { unit: 2, state: *i })).count();
        assert!((100_000..250_000).contains(&left), "{left}");
        let recent = (350_000..400_000).filter(|i| seen.contains(Narrow { unit: 2, state: *i })).count();
        assert!(recent > 30_000, "{recent}");
    }
    let sizes = [place.path(), place.wide_path()].map(|path| std::fs::metadata(path).unwrap().len());
    assert!(sizes.iter().sum::<u64>() <= MOST, "{sizes:?}");
}

/// Narrow keys of which all but so many bits of the word are thrown away.
#[derive(Clone, Copy)]
struct Short<const BITS: u32>;

impl<const BITS: u32> Content for Short<BITS> {
    const WIDTH: u32 = 96;
}

impl<const BITS: u32> Format for Short<BITS> {
    type Key = Narrow;
    const SLOTS: usize = NarrowFormat::SLOTS;
    const WORDS: usize = 1;
    const REST_BITS: u32 = NarrowFormat::REST_BITS;
    const ASIDES: usize = NarrowFormat::ASIDES;
    const DENSITY: u64 = NarrowFormat::DENSITY;
    const FIRST_DENSITY: u64 = NarrowFormat::FIRST_DENSITY;

    fn mix(key: Narrow) -> Option<Mixed> {
        let mixed = NarrowFormat::mix(key)?;
        // Never 0.
        Some(Mixed { words: [mixed.words[0] & ((1 << BITS) - 1) | 1 << 63, 0], ..mixed })
    }

    fn unmix(mixed: Mixed) -> Narrow {
        NarrowFormat::unmix(mixed)
    }
}

/// How many of as many states that were never put in are found, and how many that were are not.
fn errors<F: Format<Key = Narrow>>(states: u64, lookups: u64) -> (u64, u64) {
    let table = Table::<F> { memory: Memory::anonymous(u64::MAX >> 40).unwrap() };
    for state in 0..states {
        let mixed = F::mix(Narrow { unit: 0, state }).unwrap();
        if !table.contains(&mixed) {
            assert_eq!(table.insert(&mixed, u64::MAX), Outcome::New);
            table.counted(u64::MAX, &|_| panic!());
        }
    }
    let found = |state| u64::from(table.contains(&F::mix(Narrow { unit: 0, state }).unwrap()));
    ((states..states + lookups).map(found).sum(), (0..states).map(|state| 1 - found(state)).sum())
}

#[test]
fn states_are_taken_for_others_as_often_as_their_bits_say() {
    const STATES: u64 = 50_000;
    const LOOKUPS: u64 = 600_000;
    // Class and word are compared: 14 bits and those of the word. The rest is the unit's, which is always the same.
    fn expected(bits: u32) -> f64 {
        (STATES * LOOKUPS) as f64 / 2_f64.powi(14 + bits as i32)
    }
    let found = [
        errors::<Short<6>>(STATES, LOOKUPS),
        errors::<Short<9>>(STATES, LOOKUPS),
        errors::<Short<12>>(STATES, LOOKUPS),
    ];
    for ((wrong, missed), bits) in found.into_iter().zip([6, 9, 12]) {
        let (wrong, expected) = (wrong as f64, expected(bits));
        // By chance: five standard deviations; and states that were put in are taken for others, too, so that there are fewer.
        let far = 5.0 * expected.sqrt() + expected * 0.005;
        assert!((wrong - expected).abs() < far, "{bits} bits: {wrong}, not {expected}");
        assert_eq!(missed, 0);
    }
    // With 30 bits, 0.0001 are to be expected; with all, none.
    assert!(errors::<Short<30>>(STATES, LOOKUPS).0 <= 1);
    assert_eq!(errors::<NarrowFormat>(STATES, LOOKUPS), (0, 0));
}

#[test]
fn keys_that_differ_in_one_bit_are_different() {
    let seen = Seen::in_memory(0).unwrap();
    for bit in 0..64 {
        for unit in [0, 1, 17, NarrowFormat::UNITS - 1, u32::MAX] {
            let key = Narrow { unit, state: 1 << bit };
            assert!(!seen.contains(key) && seen.insert(key) && !seen.insert(key));
            assert!(!seen.contains(Wide { unit, state: 1 << bit }));
            let key = Wide { unit, state: 1 << (bit + 64) };
            assert!(!seen.contains(key) && seen.insert(key) && !seen.insert(key));
        }
    }
    fn both(seen: &Seen, key: impl State) -> [bool; 2] {
        [seen.insert(key), seen.insert(key)]
    }
    // The same number, narrow and wide.
    assert_eq!(both(&seen, Narrow { unit: 3, state: 99 }), [true, false]);
    assert_eq!(both(&seen, Wide { unit: 3, state: 99 }), [true, false]);
    assert_eq!(both(&seen, Narrow { unit: !3, state: 99 }), [true, false]);
    assert_eq!(both(&seen, Wide { unit: !3, state: 99 }), [true, false]);
}

#[test]
fn what_has_no_place_among_the_narrow_is_not_lost() {
    // All of one line, far more than it and those behind it can hold.
    let seen = Seen::in_memory(0).unwrap();
    let mixed = |i: u64| Mixed { class: 5, words: [i << 20 | 1 << 62, 0], rest: 3 };
    let keys: Vec<_> = (0..1000).map(|i| NarrowFormat::unmix(mixed(i))).collect();
    assert!(keys.iter().all(|key| seen.insert(*key)));
    assert!(keys.iter().all(|key| seen.contains(*key) && !seen.insert(*key)));
    assert!(seen.wide.count() > 700);
    // And are found when their line is another one.
    for state in 0..GROUPED * 7 {
        seen.insert(Narrow { unit: 8, state });
    }
    assert!(seen.narrow.lines() > GROUPED);
    assert!(keys.iter().all(|key| seen.contains(*key)));
}
