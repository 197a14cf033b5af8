//! What can be wrong with files: each is refused with its reason, and nothing that goes wrong later reaches the program.

use super::{ID, Numbers, Place, c_path};
use crate::seen::{Narrow, Refused, Seen};
use crate::sys::Errno;
use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use unseen_abi::seen::{FIRST_LINES, file_size};

fn key(state: u64) -> Narrow {
    Narrow { unit: 4, state }
}

/// What is said of a file to which this was done.
fn refused(change: impl FnOnce(&Path)) -> Option<Refused> {
    let place = Place::new();
    place.open().insert(key(1));
    change(&place.path());
    place.try_open(0).err()
}

fn write(path: &Path, bytes: &[u8], at: u64) {
    fs::OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, at).unwrap();
}

#[test]
fn files_that_are_not_ours_are_refused_with_the_reason() {
    assert_eq!(refused(|_| ()), None);
    assert_eq!(refused(|path| fs::write(path, "").unwrap()), Some(Refused::Foreign));
    assert_eq!(refused(|path| fs::write(path, "x".repeat(10_000)).unwrap()), Some(Refused::Foreign));
    assert_eq!(refused(|path| write(path, b"2", 7)), Some(Refused::Foreign));
    assert_eq!(refused(|path| write(path, &[9], 8)), Some(Refused::Version(9)));
    assert_eq!(refused(|path| write(path, &[160], 12)), Some(Refused::Foreign));
    assert_eq!(refused(|path| write(path, b"another build...", 16)), Some(Refused::OtherBuild));
    // Sizes that can't be.
    for size in [0, FIRST_LINES << 1 | 1 << 62, (FIRST_LINES << 1) + 2, u64::MAX] {
        assert_eq!(refused(|path| write(path, &size.to_le_bytes(), 64)), Some(Refused::Corrupt), "{size}");
        assert_eq!(refused(|path| write(path, &(size << 8).to_le_bytes(), 72)), Some(Refused::Corrupt), "{size}");
    }
    assert_eq!(
        refused(|path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        }),
        Some(Refused::System(Errno(21)))
    );
}

#[test]
fn a_file_that_was_cut_is_refused() {
    for length in [4096, 5000, file_size(FIRST_LINES) - 1] {
        let cut = |path: &Path| fs::OpenOptions::new().write(true).open(path).unwrap().set_len(length).unwrap();
        assert_eq!(refused(cut), Some(Refused::Corrupt), "{length}");
    }
}

#[test]
fn a_link_is_not_followed() {
    let place = Place::new();
    std::os::unix::fs::symlink("elsewhere", place.path()).unwrap();
    assert!(matches!(place.try_open(0), Err(Refused::System(_))));
    assert_eq!(fs::read_dir(place.directory.path()).unwrap().count(), 1);
}

#[test]
fn what_must_not_be_written_is_refused() {
    // Root may write anything; there is a test on a disk that nobody may write, too.
    if !is_root() {
        let reason = refused(|path| fs::set_permissions(path, fs::Permissions::from_mode(0o400)).unwrap());
        assert_eq!(reason, Some(Refused::ReadOnly));
    }
    assert!(Seen::open(c"/proc/no.seen", &ID, 0).is_err());
    assert!(Seen::open(c"/no/such/directory/x.seen", &ID, 0).is_err());
}

fn is_root() -> bool {
    std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap()) == 0
}

#[test]
fn garbage_in_the_lines_is_never_taken_for_a_state() {
    let place = Place::new();
    drop(place.open());
    let mut numbers = Numbers(3);
    for path in [place.path(), place.wide_path()] {
        let garbage: Vec<u8> = (0..FIRST_LINES * 8).flat_map(|_| numbers.next().to_le_bytes()).collect();
        write(&path, &garbage, 4096);
    }
    let seen = place.open();
    for state in 0..100_000 {
        assert!(!seen.contains(key(state)) && !seen.contains(crate::seen::Wide { unit: 4, state: state.into() }));
        // There is no place for most of it.
        assert!(seen.insert(key(state)));
    }
}

#[test]
fn a_size_that_is_too_small_is_not_followed() {
    let place = Place::new();
    let seen = place.open();
    for size in [0, 1, 7, FIRST_LINES, (FIRST_LINES << 1) - 1, FIRST_LINES << 1 | 1] {
        seen.narrow.memory.header().size.store(size, std::sync::atomic::Ordering::SeqCst);
        (0..1000).for_each(|i| assert!(!seen.contains(key(size ^ i))));
    }
}

#[test]
fn no_other_file_stays() {
    let place = Place::new();
    let (a, b) = (place.open(), place.open());
    assert!(a.insert(key(1)) && !b.insert(key(1)));
    let mut names: Vec<_> = fs::read_dir(place.directory.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["x.seen", "x.seen-wide"]);
    let open = fs::read_dir("/proc/self/fd").unwrap().filter_map(|fd| fs::read_link(fd.unwrap().path()).ok());
    assert!(!open.into_iter().any(|path| path.starts_with(place.directory.path())), "a descriptor stays open");
}

#[test]
fn many_make_the_same_file_at_once() {
    for _ in 0..20 {
        let place = Place::new();
        std::thread::scope(|scope| {
            let sets: Vec<_> = (0..8).map(|i| (i, scope.spawn(|| place.open()))).collect();
            for (i, set) in sets {
                assert!(set.join().unwrap().insert(key(i)));
            }
        });
        let seen = place.open();
        assert!((0..8).all(|i| seen.contains(key(i))));
        assert_eq!(fs::read_dir(place.directory.path()).unwrap().count(), 2);
    }
}

/// Puts so many states in; how many of them are found afterwards.
fn fill(seen: &Seen, n: u64) -> usize {
    (0..n).for_each(|i| assert!(seen.insert(key(i))));
    assert!((n..n + 1000).all(|i| !seen.contains(key(i))));
    (0..n).filter(|i| seen.contains(key(*i))).count()
}

#[test]
fn a_set_whose_file_is_gone_stays_as_large_as_it_is() {
    let place = Place::new();
    let seen = place.open();
    fs::remove_file(place.path()).unwrap();
    let left = fill(&seen, 300_000);
    assert_eq!(seen.narrow.lines(), FIRST_LINES);
    assert!((50_000..200_000).contains(&left), "{left}");
    // Another one took its name: it is left alone.
    let other = place.open();
    let size = fs::metadata(place.path()).unwrap().len();
    (300_000..400_000).for_each(|i| assert!(seen.insert(key(i))));
    assert_eq!(fs::metadata(place.path()).unwrap().len(), size);
    assert_eq!(other.count(), 0);
}

/// Runs an ignored test after `script`, whose `$0` is a directory; with "unshare" by a process that may mount there.
#[track_caller]
fn run(before: &[&str], script: &str, test: &str) {
    let place = Place::new();
    let (program, arguments) = [before, &["bash", "-c"]].concat().split_first().map(|(a, b)| (*a, b.to_vec())).unwrap();
    let script = format!("{script}; SEEN_DISK=$0 exec \"$1\" --exact {test} --nocapture --ignored");
    let mut command = std::process::Command::new(program);
    command.args(arguments).arg(script).arg(place.directory.path()).arg(std::env::current_exe().unwrap());
    let Ok(output) = command.output() else { return eprintln!("skipped: there is no {program}") };
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if text.contains("unshare:") || text.contains("mount:") {
        return eprintln!("skipped: {text}");
    }
    assert!(output.status.success() && text.contains("1 passed"), "{:?} {text}", output.status);
}

/// A name space of its own, in which one may mount.
const ALONE: [&str; 4] = ["unshare", "--user", "--map-root-user", "--mount"];

/// Runs an ignored test that has a disk of 3 MB.
pub fn run_on_a_small_disk(test: &str) {
    run(&ALONE, "mount -t tmpfs -o size=3m tmpfs $0", test);
}

pub fn on_disk(name: &str) -> Result<Seen, Refused> {
    let disk = std::env::var_os("SEEN_DISK").expect("started by another test");
    Seen::open(&c_path(&Path::new(&disk).join(name)), &ID, 0)
}

#[test]
fn a_full_disk_makes_it_forget() {
    run_on_a_small_disk("seen::tests::files::on_a_small_disk");
}

#[test]
#[ignore = "run by another"]
fn on_a_small_disk() {
    let seen = on_disk("x.seen").unwrap();
    let left = fill(&seen, 400_000);
    assert!((50_000..250_000).contains(&left), "{left}");
    assert!(seen.narrow.memory.is_stuck());
    // Full from the start: refused, and nothing stays.
    assert_eq!(on_disk("y.seen").err(), Some(Refused::System(Errno::NO_SPACE)));
    assert_eq!(fs::read_dir(std::env::var_os("SEEN_DISK").unwrap()).unwrap().count(), 2);
}

#[test]
fn a_disk_that_nobody_may_write_is_refused() {
    run(&ALONE, "mount -t tmpfs -o ro tmpfs $0", "seen::tests::files::on_a_disk_that_nobody_may_write");
}

#[test]
#[ignore = "run by another"]
fn on_a_disk_that_nobody_may_write() {
    assert_eq!(on_disk("x.seen").err(), Some(Refused::ReadOnly));
}

#[test]
fn a_limit_of_file_sizes_makes_it_forget() {
    run(&[], "ulimit -f 3072", "seen::tests::files::below_a_limit_of_file_sizes");
}

#[test]
#[ignore = "run by another"]
fn below_a_limit_of_file_sizes() {
    let place = Place::new();
    let seen = place.open();
    let left = fill(&seen, 400_000);
    let size = fs::metadata(place.path()).unwrap().len();
    assert!((2 << 20..=3 << 20).contains(&size), "{size}");
    assert!((100_000..350_000).contains(&left), "{left}");
}

#[test]
fn a_process_with_few_addresses_gets_a_smaller_mapping() {
    run(&[], "ulimit -v 2000000", "seen::tests::files::with_few_addresses");
}

#[test]
#[ignore = "run by another"]
fn with_few_addresses() {
    let seen = Place::new().open();
    assert!(seen.narrow.memory.largest < 1 << 28);
    assert!(seen.insert(key(1)) && seen.contains(key(1)));
}
