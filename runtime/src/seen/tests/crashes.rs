//! Processes that share a set and are killed at any instruction: what they had put in is there, and nothing else.

use super::{Numbers, Place, contains, insert};
use crate::seen::line::Put;
use crate::seen::table::Table;
use crate::seen::{Key, Narrow, Seen, Wide};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};
use unseen_abi::seen::file::Seen as File;
use unseen_abi::seen::{FIRST_LINES, Format, Mixed, NarrowFormat, WideFormat};

const KILL: i32 = 9;
const PROCESSES: usize = 8;

unsafe extern "C" {
    fn fork() -> i32;
    fn kill(process: i32, signal: i32) -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(code: i32) -> !;
}

/// A child that does this until it is killed.
pub fn child(work: impl FnOnce()) -> i32 {
    // SAFETY: the child makes system calls and touches memory that it has, nothing else.
    let process = unsafe { fork() };
    assert!(process >= 0);
    if process == 0 {
        work();
        // SAFETY: as above.
        unsafe { _exit(0) };
    }
    process
}

pub fn end(process: i32) -> i32 {
    let mut status = 0;
    // SAFETY: our own child.
    unsafe {
        kill(process, KILL);
        waitpid(process, &raw mut status, 0);
    }
    status
}

/// The `i`th state of a writer: some narrow, some of units that are wide, some wide.
fn state(writer: u64, i: u64) -> Key {
    let state = writer << 40 | i;
    match i % 8 {
        0 => Key::Wide(Wide { unit: 1, state: u128::from(state) << 50 }),
        1 => Key::Narrow(Narrow { unit: u32::MAX, state }),
        _ => Key::Narrow(Narrow { unit: 3, state }),
    }
}

/// How far each writer came, in memory that outlives it. Written after the insertion has returned.
struct Progress(&'static [AtomicU64]);

impl Progress {
    fn new(writers: usize) -> Progress {
        let memory = crate::sys::map_shared_memory(writers * 8).unwrap();
        // SAFETY: fresh, zero, never unmapped.
        Progress(unsafe { std::slice::from_raw_parts(memory.cast(), writers) })
    }
}

fn murder(open: impl Fn() -> Seen, millis: u64) -> (Progress, Seen) {
    const WRITERS: usize = 512;
    let progress = Progress::new(WRITERS);
    let mut numbers = Numbers(1);
    let mut living: Vec<i32> = Vec::new();
    let seen = open();
    let mut writers = 0;
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(millis) && writers < WRITERS {
        while living.len() < PROCESSES {
            let (writer, done) = (writers as u64, &progress.0[writers]);
            // The first half use what they inherited, the others open it by themselves.
            let inherited = &seen;
            let open = &open;
            living.push(child(move || {
                let own;
                let seen = if writer % 2 == 0 {
                    inherited
                } else {
                    own = open();
                    &own
                };
                for i in 0.. {
                    insert(seen, state(writer, i));
                    done.store(i + 1, SeqCst);
                }
            }));
            writers += 1;
        }
        std::thread::sleep(Duration::from_micros(numbers.next() % 20_000));
        let one = living.swap_remove(numbers.next() as usize % PROCESSES);
        assert_eq!(end(one) & 0x7f, KILL, "it ended by itself");
    }
    for one in living {
        assert_eq!(end(one) & 0x7f, KILL, "it ended by itself");
    }
    (progress, seen)
}

/// Looks for everything that was put in, and at everything that is there.
fn account(progress: &Progress, seen: &Seen, found: HashSet<Key>) {
    let mut total = 0;
    for (writer, done) in progress.0.iter().enumerate() {
        let done = done.load(SeqCst);
        total += done;
        for i in 0..done {
            assert!(contains(seen, state(writer as u64, i)), "{i} of {writer} is lost");
        }
        // The one that it was at may be there or not; none that follow.
        for i in done + 1..done + 1000 {
            assert!(!contains(seen, state(writer as u64, i)), "{i} of {writer} was never put in");
        }
    }
    assert!(total > 20_000, "{total}");
    for key in found {
        let number = match key {
            Key::Wide(key) => (key.state >> 50) as u64,
            Key::Narrow(key) => key.state,
        };
        let (writer, i) = (number >> 40, number & ((1 << 40) - 1));
        assert_eq!(state(writer, i), key, "was never put in");
        assert!(i <= progress.0[writer as usize].load(SeqCst), "was never put in");
    }
}

#[test]
fn eight_processes_that_are_killed_lose_nothing() {
    let place = Place::new();
    let (progress, seen) = murder(|| place.open(), 1500);
    assert!(seen.narrow.lines() > FIRST_LINES, "it did not grow");
    let bytes = [place.path(), place.wide_path()].map(|path| std::fs::read(path).unwrap());
    let mut found: HashSet<_> =
        File::read::<NarrowFormat>(&bytes[0]).unwrap().keys::<NarrowFormat>().map(Key::Narrow).collect();
    found.extend(File::read::<WideFormat>(&bytes[1]).unwrap().keys::<WideFormat>());
    account(&progress, &seen, found);
    // And by whoever comes later.
    account(&progress, &place.open(), HashSet::new());
}

#[test]
fn children_of_a_process_without_a_file_share_its_set() {
    let seen = Seen::in_memory(0).unwrap();
    let progress = Progress::new(PROCESSES);
    let children: Vec<_> = (0..PROCESSES as u64)
        .map(|writer| {
            let (seen, done) = (&seen, &progress.0[writer as usize]);
            child(move || {
                for i in 0.. {
                    insert(seen, state(writer, i));
                    done.store(i + 1, SeqCst);
                }
            })
        })
        .collect();
    std::thread::sleep(Duration::from_millis(1500));
    children.into_iter().for_each(|one| assert_eq!(end(one) & 0x7f, KILL));
    account(&progress, &seen, HashSet::new());
}

/// Lines of a table as somebody left them who died while states were on their way to new lines.
#[test]
fn another_carries_on_where_one_died() {
    let place = Place::new();
    let key = |state| Narrow { unit: 0, state };
    let (mut n, seen) = (0, place.open());
    while seen.narrow.lines() < FIRST_LINES * 2 {
        seen.insert(key(n));
        n += 1;
    }
    // He has said that there are more lines, and nothing else.
    let header = seen.narrow.memory.header();
    let lines = seen.narrow.lines() + unseen_abi::seen::BATCH;
    seen.narrow.memory.make_room(lines, u64::MAX);
    header.size.store(lines << 1 | 1, SeqCst);
    header.since.store(0, SeqCst);
    let other = place.open();
    assert!((0..n).all(|i| other.contains(key(i)) && !other.insert(key(i))));
    // The first who wants more lines does it.
    (n..n + 100_000).for_each(|i| assert!(other.insert(key(i))));
    assert!(other.narrow.lines() > lines);
    assert!((0..n + 100_000).all(|i| other.contains(key(i))));
    // Not as long as he may be alive.
    let size = header.size.load(SeqCst);
    let lines = (size >> 1) + unseen_abi::seen::BATCH;
    seen.narrow.memory.make_room(lines, u64::MAX);
    header.size.store(lines << 1 | 1, SeqCst);
    for i in 0..1000 {
        header.since.store(crate::sys::time(), SeqCst);
        assert!(other.insert(key(1 << 60 | i)));
    }
    assert_eq!(header.size.load(SeqCst), lines << 1 | 1);
    assert!((0..n + 100_000).all(|i| other.contains(key(i))));
}

/// Somebody says that there are more lines and is stopped: others can't know that he won't come back soon. They put in more than there
/// is room for without new lines; once, states were lost then.
#[test]
fn states_do_not_wait_for_one_who_was_stopped() {
    let seen = Seen::in_memory(0).unwrap();
    let later = crate::sys::time() + (1 << 50);
    for header in [seen.narrow.memory.header(), seen.wide.memory.header()] {
        header.size.store((FIRST_LINES + unseen_abi::seen::BATCH) << 1 | 1, SeqCst);
        header.since.store(later, SeqCst);
    }
    for i in 0..400_000 {
        assert!(insert(&seen, state(5, i)));
        // Each one who comes after him is stopped, too.
        for header in [seen.narrow.memory.header(), seen.wide.memory.header()] {
            header.since.store(later, SeqCst);
        }
    }
    assert!((0..400_000).all(|i| contains(&seen, state(5, i))));
    assert!(seen.narrow.lines() > FIRST_LINES * 4 && seen.wide.lines() > FIRST_LINES * 2);
}

/// Somebody reads a slot, is stopped, and takes it out an hour later, when another state is there.
#[test]
fn who_comes_late_takes_nothing_else_out() {
    let seen = Seen::in_memory(0).unwrap();
    let line = seen.narrow.memory.line(0);
    let one = Mixed { class: 0, words: [0x1234_5678, 0], rest: 3 };
    let other = Mixed { words: [0x1234_5679, 0], ..one };
    assert_eq!(NarrowFormat::field(&one, 0), NarrowFormat::field(&other, 0));
    assert_eq!(line.put::<NarrowFormat>(&one, 0), Put::Done);
    let (home, late) = line.get::<NarrowFormat>(0, 0).unwrap();
    assert_eq!((home, late), (0, one));
    line.take_out::<NarrowFormat>(0, &one);
    assert!(!line.has::<NarrowFormat>(&one, 0));
    assert_eq!(line.put::<NarrowFormat>(&other, 0), Put::Done);
    line.take_out::<NarrowFormat>(0, &late);
    assert!(line.has::<NarrowFormat>(&other, 0));
    assert_eq!(line.get::<NarrowFormat>(0, 0), Some((0, other)));
}

/// A slot that was claimed and never finished, and one that was being taken out.
#[test]
fn half_a_slot_never_counts() {
    let seen = Seen::in_memory(0).unwrap();
    let table: &Table<NarrowFormat> = &seen.narrow;
    for state in 0..2000_u64 {
        let key = Narrow { unit: 1, state };
        let mixed = NarrowFormat::mix(key).unwrap();
        let line = unseen_abi::seen::home(mixed.class, mixed.words[0], table.lines());
        let words = std::ptr::from_ref(table.memory.line(line)).cast::<AtomicU64>();
        // SAFETY: the words of a line.
        let (first, fields) = unsafe { (&*words, &*words.add(7)) };
        if first.load(SeqCst) != 0 {
            continue;
        }
        first.store(mixed.words[0], SeqCst);
        assert!(!seen.contains(key), "only a word");
        let field = NarrowFormat::field(&mixed, 0);
        for bit in 0..9 {
            fields.fetch_or(field & !(1 << bit), SeqCst);
            let is_whole = field & !(1 << bit) == field;
            assert_eq!(seen.contains(key), is_whole, "a field without bit {bit}");
            fields.store(0, SeqCst);
        }
        // It is put in beside it.
        assert!(seen.insert(key) && seen.contains(key) && !seen.insert(key));
    }
}
