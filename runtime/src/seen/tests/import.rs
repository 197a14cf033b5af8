//! Sets of other stores: all their states get in, whatever happens meanwhile, and what is no such set gets nothing in.

use super::{ID, Numbers, Place, c_path};
use crate::seen::{Narrow, Refused, Seen, Wide};
use crate::sys::Errno;
use std::fs;
use std::path::PathBuf;
use unseen_abi::seen::exported::States;

fn narrow(state: u64) -> Narrow {
    Narrow { unit: 4, state }
}

fn wide(state: u64) -> Wide {
    Wide { unit: 5, state: u128::from(state) << 64 | 1 }
}

/// A file with these states, half of them of each width.
fn file(states: std::ops::Range<u64>) -> Vec<u8> {
    let all = States::new(ID, states.clone().map(narrow).collect(), states.map(wide).collect());
    all.encode().0
}

impl Place {
    fn imports(&self) -> PathBuf {
        self.directory.path().join("x.import")
    }

    fn leave(&self, name: &str, bytes: &[u8]) {
        let _ = fs::create_dir(self.imports());
        fs::write(self.imports().join(name), bytes).unwrap();
    }

    fn import(&self, seen: &Seen) -> Result<(), Refused> {
        seen.import(&c_path(&self.imports()), &ID)
    }
}

fn has(seen: &Seen, states: std::ops::Range<u64>) -> usize {
    states.filter(|i| seen.contains(narrow(*i)) && seen.contains(wide(*i))).count()
}

#[test]
fn all_states_get_in_and_the_files_go() {
    let place = Place::new();
    let seen = place.open();
    assert_eq!(place.import(&seen), Ok(()), "nothing is there");
    assert!(seen.insert(narrow(1 << 40)));
    // One is larger than what is read at once.
    place.leave("a", &file(0..20_000));
    place.leave("b", &file(19_999..20_001));
    place.leave("c", &file(0..0));
    assert_eq!(place.import(&seen), Ok(()));
    assert!(!place.imports().exists());
    assert_eq!((has(&seen, 0..20_001), has(&seen, 20_001..30_000)), (20_001, 0));
    assert!(seen.contains(narrow(1 << 40)), "its own are still there");
    assert!(place.open().contains(wide(20_000)), "others have them, too");
}

#[test]
fn what_is_no_such_set_stays_and_gets_nothing_in() {
    let good = file(0..100);
    let changed = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    for (bytes, why) in [
        (Vec::new(), Refused::Foreign),
        (b"x".repeat(5000), Refused::Foreign),
        (changed(8, 9), Refused::Version(9)),
        (changed(12, 77), Refused::Version(77)),
        (changed(16, 0), Refused::OtherBuild),
        (changed(32, 99), Refused::Corrupt),
        (changed(39, 0xff), Refused::Corrupt),
        // The last byte of all.
        (changed(good.len() - 1, 0x55), Refused::Corrupt),
        (good[..good.len() - 1].to_vec(), Refused::Corrupt),
    ] {
        let place = Place::new();
        let seen = place.open();
        place.leave("a", &file(500..510));
        place.leave("b", &bytes);
        place.leave("c", &file(600..610));
        assert_eq!(place.import(&seen), Err(why));
        assert_eq!(seen.count(), 40);
        assert_eq!(has(&seen, 500..510) + has(&seen, 600..610), 20, "the others are taken");
        assert_eq!(fs::read_dir(place.imports()).unwrap().count(), 1);
        assert!(fs::read(place.imports().join("b")).unwrap() == bytes);
    }
}

#[test]
fn what_is_not_finished_is_left_alone() {
    let place = Place::new();
    let seen = place.open();
    place.leave(".tmp1", &file(0..10));
    fs::create_dir(place.imports().join(".d")).unwrap();
    assert_eq!(place.import(&seen), Ok(()));
    assert_eq!((seen.count(), fs::read_dir(place.imports()).unwrap().count()), (0, 2));
    fs::create_dir(place.imports().join("d")).unwrap();
    assert_eq!(place.import(&seen), Err(Refused::Foreign));
}

#[test]
fn many_take_the_same_over_at_once() {
    let place = Place::new();
    for i in 0..4 {
        place.leave(&format!("{i}"), &file(i * 5000..(i + 1) * 5000));
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(place.import(&place.open()), Ok(())));
        }
    });
    assert_eq!(has(&place.open(), 0..20_000), 20_000);
    assert!(!place.imports().exists());
}

#[test]
fn whoever_is_killed_meanwhile_loses_nothing() {
    let place = Place::new();
    let (bytes, mut numbers) = (file(0..100_000), Numbers(5));
    assert!(place.open().insert(narrow(1 << 40)));
    let mut left = 0;
    for _ in 0..30 {
        place.leave("a", &bytes);
        let one = super::crashes::child(|| _ = place.import(&place.open()));
        std::thread::sleep(std::time::Duration::from_micros(numbers.next() % 30_000));
        super::crashes::end(one);
        let seen = place.open();
        assert!(seen.contains(narrow(1 << 40)));
        // Only what is in is removed.
        if place.imports().join("a").exists() {
            left += 1;
        } else {
            assert_eq!(has(&seen, 0..100_000), 100_000);
        }
    }
    assert!(left > 0, "nobody was killed in time");
    place.leave("a", &bytes);
    let seen = place.open();
    assert_eq!(place.import(&seen), Ok(()));
    assert_eq!((has(&seen, 0..100_000), has(&seen, 100_000..200_000)), (100_000, 0));
}

#[test]
fn a_set_that_must_not_be_larger_forgets() {
    let place = Place::new();
    let most = 4 << 20;
    let seen = place.try_open(most).unwrap();
    place.leave("a", &file(0..300_000));
    assert_eq!(place.import(&seen), Ok(()));
    assert!(!place.imports().exists() && seen.bytes() <= most);
    let left = has(&seen, 0..300_000);
    assert!((1000..290_000).contains(&left), "{left}");
}

#[test]
fn where_the_disk_is_full_it_waits() {
    super::files::run_on_a_small_disk("seen::tests::import::on_a_full_disk");
}

#[test]
#[ignore = "run by another"]
fn on_a_full_disk() {
    let place = Place::new();
    let seen = super::files::on_disk("x.seen").unwrap();
    (1 << 40..(1 << 40) + 20_000).for_each(|i| assert!(seen.insert(narrow(i))));
    place.leave("a", &file(0..400_000));
    assert_eq!(place.import(&seen), Err(Refused::System(Errno::NO_SPACE)));
    assert!(place.imports().join("a").exists());
    assert!((1 << 40..(1 << 40) + 20_000).all(|i| seen.contains(narrow(i))), "nothing is forgotten for it");
    let some = (0..400_000).filter(|i| seen.contains(narrow(*i))).count();
    assert!((1000..399_000).contains(&some), "{some}");
}
