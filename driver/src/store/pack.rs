//! Packs: the counter files of many dead processes in one file, so that a program that forks a thousand times leaves one.
//!
//! Nothing is added up: a pack keeps who reached what, because a report counts the processes that reached any of
//! several counters, and sums per counter could not say that. Counters take a bit each, and processes that reached
//! the same share their bits.
//!
//! ```text
//! magic "UNSEENPK" | version u32 | entries u32 | bytes of the index u64 | bytes of the file u64
//! index: per entry  pid u32 | length of name u16 | length of path u16 | time u64 | module 16 bytes | counters u64
//!                   | place of its bits in the file u64 | name of its counter file | path of its binary
//! bits:  counter n of an entry is bit n % 8 of byte n / 8
//! ```
//!
//! All numbers little-endian. A pack appears whole, under its final name, before the first of its counter files is
//! removed. Whoever is killed in between leaves both: readers know an entry by the name of its counter file, and count
//! it once.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use unseen_abi::counters as abi;

use super::counters::{self, CounterFile};
use super::{Fault, ModuleId, Run, events};

/// File name extension.
pub const EXTENSION: &str = "pack";
/// Version of this layout.
pub const VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"UNSEENPK";
/// Bytes before the index.
const HEAD: usize = 32;
/// Bytes of an entry before its name.
const ENTRY: usize = 48;
/// From how many counter files on a pack is worth it.
const MANY: usize = 16;

/// The `fcntl` that chooses the signal of a lease; the libc crate does not have it.
const F_SETSIG: libc::c_int = 10;

/// An entry: the counter file as it was, and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    pub name: OsString,
    pub counters: CounterFile,
}

/// The entries of a pack.
pub fn entries(path: &Path) -> Result<Vec<Packed>, Fault> {
    let mut file = counters::open(path)?;
    let size = file.metadata()?.len();
    let mut head = Vec::with_capacity(HEAD);
    Read::by_ref(&mut file).take(HEAD as u64).read_to_end(&mut head)?;
    let mut fields = Fields(&head);
    if fields.take(MAGIC.len()).is_none_or(|magic| magic != MAGIC) {
        return Err(Fault::ForeignPack);
    }
    let truncated = |want: u64| Fault::Truncated { have: size, want };
    let cut = || truncated(HEAD as u64);
    match fields.u32().ok_or_else(cut)? {
        VERSION => {}
        version => return Err(Fault::NewerPack(version)),
    }
    let count = fields.u32().ok_or_else(cut)?;
    let index_length = fields.u64().ok_or_else(cut)?;
    let length = fields.u64().ok_or_else(cut)?;
    if size < length {
        return Err(truncated(length));
    }
    if size > length || index_length > length {
        return Err(Fault::Damaged("its lengths contradict each other"));
    }
    let mut index = Vec::new();
    file.take(index_length).read_to_end(&mut index)?;
    let mut fields = Fields(&index);
    let found: Option<Vec<Packed>> = (0..count).map(|_| entry(&mut fields, path, length)).collect();
    found.filter(|_| fields.0.is_empty()).ok_or(Fault::Damaged("its index makes no sense"))
}

fn entry(fields: &mut Fields, path: &Path, length: u64) -> Option<Packed> {
    let pid = fields.u32()?;
    let (name_length, path_length) = (fields.u16()?, fields.u16()?);
    let time = fields.u64()?;
    let id = ModuleId(fields.take(16)?.try_into().ok()?);
    let count = fields.u64().filter(|n| *n <= u64::from(u32::MAX))?;
    let bits = fields.u64()?;
    bits.checked_add(count.div_ceil(8)).filter(|end| *end <= length)?;
    let name = OsStr::from_bytes(fields.take(name_length.into())?).to_owned();
    let binary = PathBuf::from(OsStr::from_bytes(fields.take(path_length.into())?));
    Some(Packed { name, counters: CounterFile { file: path.into(), pid, time, id, count, binary, bits: Some(bits) } })
}

/// The entry of a counter file that is gone.
pub fn find(counter_file: &Path) -> Option<CounterFile> {
    let (directory, name) = (counter_file.parent()?, counter_file.file_name()?);
    let packs = counters::with_extension(directory, EXTENSION).ok()?;
    let mut all = packs.iter().filter_map(|pack| entries(pack).ok()).flatten();
    all.find(|packed| packed.name == name).map(|packed| packed.counters)
}

/// Bytes that are taken from the front.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|b| u16::from_le_bytes(b.try_into().expect("2 bytes")))
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4).map(|b| u32::from_le_bytes(b.try_into().expect("4 bytes")))
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8).map(|b| u64::from_le_bytes(b.try_into().expect("8 bytes")))
    }
}

/// Packs the counter files of a run that nobody can write to any more, if there are many. What can't be read, belongs to
/// a living process, or might, stays as it is. Killed at any moment this loses nothing.
pub fn pack(run: &Run) -> io::Result<()> {
    let (files, _) = counters::headers(run);
    let files: Vec<_> = files.into_iter().filter(|f| f.bits.is_none() && is_from_the_runtime(f)).collect();
    if files.len() < MANY {
        return Ok(());
    }
    let mut pack = Pack::default();
    let packed: Vec<_> = files.into_iter().filter(|file| is_left(&file.file) && pack.add(file).is_ok()).collect();
    if packed.len() < MANY {
        return Ok(());
    }
    pack.write(run)?;
    remove(&packed);
    Ok(())
}

fn remove(packed: &[CounterFile]) {
    for file in packed {
        // One that stays is read instead of its entry.
        let _ = fs::remove_file(&file.file);
    }
}

/// Whether the name is the one that the runtime gave: no two files of a run have the same, now or later.
fn is_from_the_runtime(file: &CounterFile) -> bool {
    let name = format!("{}-{}-{:x}.{}", &file.id.to_string()[..8], file.pid, file.time, abi::EXTENSION);
    file.file.file_name() == Some(OsStr::new(&name))
}

/// Whether no process has the file open for writing or mapped, in whatever container it runs: the kernel grants a lease
/// for reading only then. Nobody opens a finished counter file again, so it stays so. Only on file systems of which we
/// know that a mapping counts as open (on overlayfs it does not), and that are not shared between machines.
fn is_left(path: &Path) -> bool {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let Ok(file) = fs::File::options().read(true).custom_flags(flags).open(path) else { return false };
    let fd = file.as_raw_fd();
    // SAFETY: a zeroed statfs is a valid place for fstatfs to write to.
    let mut system = unsafe { std::mem::zeroed::<libc::statfs>() };
    // SAFETY: our own descriptor; `system` is writable.
    let known = unsafe { libc::fstatfs(fd, &mut system) } == 0
        && [libc::EXT4_SUPER_MAGIC, libc::XFS_SUPER_MAGIC, libc::BTRFS_SUPER_MAGIC, libc::TMPFS_MAGIC]
            .contains(&system.f_type);
    // SAFETY: our own descriptor. Should somebody open the file while we hold the lease, we are told by a signal, and
    // this one is ignored unless asked for.
    known
        && unsafe {
            libc::fcntl(fd, F_SETSIG, libc::SIGURG) == 0
                && libc::fcntl(fd, libc::F_SETLEASE, libc::F_RDLCK) == 0
                && libc::fcntl(fd, libc::F_SETLEASE, libc::F_UNLCK) == 0
        }
}

/// A pack that is being made.
#[derive(Default)]
struct Pack {
    entries: u32,
    index: Vec<u8>,
    /// Places of bits in the index, to be moved behind it.
    places: Vec<usize>,
    bits: Vec<u8>,
    /// Where bits that are there already begin.
    known: HashMap<Vec<u8>, u64>,
}

impl Pack {
    fn add(&mut self, file: &CounterFile) -> Result<(), Fault> {
        let mut bits = vec![0_u8; (file.count as usize).div_ceil(8)];
        file.for_each_reached(&mut Vec::new(), |n| bits[n / 8] |= 1 << (n % 8))?;
        let name = file.file.file_name().unwrap_or_default().as_bytes();
        let path = file.binary.as_os_str().as_bytes();
        let too_long = |_| Fault::Damaged("its name is too long");
        let lengths = [u16::try_from(name.len()).map_err(too_long)?, u16::try_from(path.len()).map_err(too_long)?];
        let place = *self.known.entry(bits).or_insert_with_key(|bits| {
            let place = self.bits.len() as u64;
            self.bits.extend(bits);
            place
        });
        let start = self.index.len();
        self.index.extend(file.pid.to_le_bytes());
        lengths.iter().for_each(|length| self.index.extend(length.to_le_bytes()));
        self.index.extend(file.time.to_le_bytes());
        self.index.extend(file.id.0);
        self.index.extend(file.count.to_le_bytes());
        self.places.push(self.index.len());
        self.index.extend(place.to_le_bytes());
        debug_assert_eq!(self.index.len() - start, ENTRY);
        self.index.extend(name);
        self.index.extend(path);
        self.entries += 1;
        Ok(())
    }

    fn bytes(mut self) -> Vec<u8> {
        let start = (HEAD + self.index.len()) as u64;
        for place in self.places {
            let number = &mut self.index[place..place + 8];
            let moved = start + u64::from_le_bytes((&*number).try_into().expect("8 bytes"));
            number.copy_from_slice(&moved.to_le_bytes());
        }
        let (index, length) = (self.index.len() as u64, start + self.bits.len() as u64);
        let mut out = [&MAGIC[..], &VERSION.to_le_bytes(), &self.entries.to_le_bytes()].concat();
        [index, length].iter().for_each(|number| out.extend(number.to_le_bytes()));
        [out, self.index, self.bits].concat()
    }

    /// Writes the pack so that it is there, whole and on the disk, when this returns.
    fn write(self, run: &Run) -> io::Result<PathBuf> {
        let path = run.directory.join(format!("{:x}-{}.{EXTENSION}", events::now(), std::process::id()));
        let mut file = tempfile::Builder::new()
            .prefix(".pack")
            .permissions(fs::Permissions::from_mode(0o666))
            .tempfile_in(&run.directory)?;
        file.write_all(&self.bytes())?;
        file.as_file().sync_all()?;
        file.persist_noclobber(&path)?;
        fs::File::open(&run.directory)?.sync_all()?;
        Ok(path)
    }
}

/// Calls `reached` with the number of each counter whose bit is set.
pub fn for_each_reached(file: &CounterFile, bits: u64, mut reached: impl FnMut(usize)) -> Result<(), Fault> {
    let mut pack = counters::open(&file.file)?;
    pack.seek(SeekFrom::Start(bits))?;
    let mut bytes = vec![0; (file.count as usize).div_ceil(8)];
    pack.read_exact(&mut bytes)?;
    let set = |byte: u8, bit: usize| byte & 1 << bit != 0;
    for (i, byte) in bytes.iter().enumerate().filter(|(_, byte)| **byte != 0) {
        (0..8)
            .filter(|bit| set(*byte, *bit))
            .map(|bit| 8 * i + bit)
            .filter(|n| *n < file.count as usize)
            .for_each(&mut reached);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::counters::samples;
    use crate::store::merge::{Merged, Points, merge};
    use std::os::unix::fs::FileExt;

    const COUNTERS: u32 = 20;

    struct House {
        directory: tempfile::TempDir,
    }

    impl House {
        /// A run of so many processes with two modules each; they reach different things.
        fn new(processes: u32) -> House {
            // Temporary files may lie on a file system on which nothing is packed.
            let memory = tempfile::tempdir_in("/dev/shm");
            let house = House { directory: memory.or_else(|_| tempfile::tempdir()).unwrap() };
            for pid in 1..=processes {
                for (module, time) in [(1, 10), (2, 11)] {
                    let counters: Vec<u8> =
                        (0..COUNTERS).map(|c| u8::from((c + pid) % (2 + u32::from(module)) == 0)).collect();
                    samples::write(&house.run(), [module; 16], pid, time, &counters);
                }
            }
            house
        }

        /// Its counter files, and a pack of them that is not written yet.
        fn in_a_pack(&self) -> (Vec<CounterFile>, Pack) {
            let (files, _) = counters::headers(&self.run());
            let mut pack = Pack::default();
            files.iter().for_each(|file| pack.add(file).unwrap());
            (files, pack)
        }

        fn run(&self) -> Run {
            Run { name: "r".into(), directory: self.directory.path().into() }
        }

        fn files(&self, extension: &str) -> Vec<PathBuf> {
            counters::with_extension(self.directory.path(), extension).unwrap()
        }

        /// A point is told by one counter of each module: what sums per counter would get wrong.
        fn merged(&self) -> Merged {
            let pairs = |_: &CounterFile| Ok(Points::new(COUNTERS, (0..COUNTERS).map(|c| (c, c)).collect()));
            merge(&[self.run()], pairs)
        }

        /// Everything a report takes from a run.
        fn report(&self) -> Vec<u32> {
            let merged = self.merged();
            assert!(merged.problems.is_empty(), "{:?}", merged.problems);
            let points = (0..COUNTERS).flat_map(|p| [merged.processes(p), merged.runs(p)]);
            let modules = merged.modules.iter().map(|m| m.processes);
            let times = [merged.first.unwrap() as u32, merged.last.unwrap() as u32];
            [merged.processes].into_iter().chain(points).chain(modules).chain(times).collect()
        }
    }

    #[test]
    fn many_files_become_one_and_reports_stay_the_same() {
        let house = House::new(40);
        let (report, size) = (house.report(), |f: &PathBuf| f.metadata().unwrap().len());
        let before: u64 = house.files("cov").iter().map(size).sum();
        pack(&house.run()).unwrap();
        assert_eq!((house.files("cov").len(), house.files("pack").len()), (0, 1));
        assert_eq!(house.report(), report);
        assert!(size(&house.files("pack")[0]) * 20 < before);
        // Again, with more: each pack stays as it is.
        for pid in 100..140 {
            samples::write(&house.run(), [1; 16], pid, 20, &[1; COUNTERS as usize]);
        }
        let report = house.report();
        pack(&house.run()).unwrap();
        assert_eq!((house.files("cov").len(), house.files("pack").len()), (0, 2));
        assert_eq!(house.report(), report);
    }

    #[test]
    fn few_files_stay() {
        let house = House::new(MANY as u32 / 2 - 1);
        pack(&house.run()).unwrap();
        assert_eq!((house.files("cov").len(), house.files("pack").len()), (MANY - 2, 0));
    }

    #[test]
    fn killed_at_any_moment_nothing_is_lost_or_counted_twice() {
        let house = House::new(10);
        let report = house.report();
        let (files, made) = house.in_a_pack();
        let bytes = made.bytes();
        // While it is written it has another name.
        let unfinished = house.directory.path().join(".packAbCdEf");
        for cut in [0, 7, HEAD, bytes.len() - 1] {
            fs::write(&unfinished, &bytes[..cut]).unwrap();
            assert_eq!(house.report(), report);
        }
        fs::rename(unfinished, house.directory.path().join("1-1.pack")).unwrap();
        fs::write(house.directory.path().join("1-1.pack"), &bytes).unwrap();
        assert_eq!(house.report(), report);
        for file in &files {
            remove(std::slice::from_ref(file));
            assert_eq!(house.report(), report);
        }
        assert_eq!(house.files("cov").len(), 0);
    }

    #[test]
    fn what_a_killed_one_left_may_be_packed_again() {
        let house = House::new(10);
        let report = house.report();
        house.in_a_pack().1.write(&house.run()).unwrap();
        pack(&house.run()).unwrap();
        assert_eq!((house.files("cov").len(), house.files("pack").len()), (0, 2));
        assert_eq!(house.report(), report);
    }

    #[test]
    fn a_file_that_is_packed_between_header_and_counters_is_found() {
        let house = House::new(10);
        let (files, _) = counters::headers(&house.run());
        let reached = |file: &CounterFile| {
            let mut set = Vec::new();
            file.for_each_reached(&mut Vec::new(), |c| set.push(c)).unwrap();
            set
        };
        let before: Vec<_> = files.iter().map(reached).collect();
        pack(&house.run()).unwrap();
        assert_eq!(house.files("cov").len(), 0);
        assert_eq!(files.iter().map(reached).collect::<Vec<_>>(), before);
    }

    #[test]
    fn files_that_are_open_mapped_damaged_or_renamed_stay() {
        let house = House::new(20);
        let files = house.files("cov");
        let report = house.report();
        let open = fs::File::options().write(true).open(&files[0]).unwrap();
        let mapped = fs::File::options().read(true).write(true).open(&files[1]).unwrap();
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping where the kernel likes, of a file that is long enough.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), 8192, protection, libc::MAP_SHARED, mapped.as_raw_fd(), 0) };
        assert_ne!(at, libc::MAP_FAILED);
        drop(mapped);
        let renamed = house.directory.path().join("mine.cov");
        fs::rename(&files[2], &renamed).unwrap();
        fs::write(house.directory.path().join("cut.cov"), &fs::read(&files[3]).unwrap()[..5000 - 1000]).unwrap();
        let cut = house.directory.path().join("cut.cov");
        pack(&house.run()).unwrap();
        let mut stay = vec![files[0].clone(), files[1].clone(), renamed, cut.clone()];
        stay.sort();
        assert_eq!(house.files("cov"), stay);
        let problems: Vec<_> = house.merged().problems.into_iter().map(|p| p.file).collect();
        assert_eq!(problems, std::slice::from_ref(&cut));
        fs::remove_file(cut).unwrap();
        assert_eq!(house.report(), report);
        // What a living process reaches later counts.
        let set = open.write_at(&[1; COUNTERS as usize], abi::COUNTERS_OFFSET as u64);
        assert_eq!(set.unwrap(), COUNTERS as usize);
        assert_ne!(house.report(), report);
        // SAFETY: mapped above, and nobody uses it.
        unsafe { libc::munmap(at, 8192) };
    }

    #[test]
    fn a_damaged_pack_is_named_and_the_rest_is_kept() {
        let house = House::new(10);
        pack(&house.run()).unwrap();
        let path = house.files("pack").remove(0);
        let whole = fs::read(&path).unwrap();
        samples::write(&house.run(), [1; 16], 99, 1, &[1; COUNTERS as usize]);
        let with = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            let mut merged = house.merged();
            assert_eq!((merged.processes, merged.problems.len()), (1, 1));
            assert_eq!(merged.problems[0].file, path);
            merged.problems.remove(0).fault
        };
        let changed = |at: usize, byte: u8| [&whole[..at], &[byte], &whole[at + 1..]].concat();
        for cut in 0..whole.len() {
            assert!(matches!(with(&whole[..cut]), Fault::ForeignPack | Fault::Truncated { .. }), "cut {cut}");
        }
        assert!(matches!(with(&[&whole[..], b"x"].concat()), Fault::Damaged(_)));
        assert!(matches!(with(&changed(0, b'X')), Fault::ForeignPack));
        assert!(matches!(with(&changed(8, 2)), Fault::NewerPack(2)));
        assert!(matches!(with(&changed(12, 200)), Fault::Damaged(_)));
        assert!(matches!(with(&changed(12, 1)), Fault::Damaged(_)));
        assert!(matches!(with(&changed(HEAD + 4, 255)), Fault::Damaged(_)));
        assert!(matches!(with(&changed(HEAD + ENTRY - 1, 255)), Fault::Damaged(_)));
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

        #[test]
        fn garbage_behind_the_magic_neither_panics_nor_reads_too_much(
            tail in proptest::collection::vec(proptest::num::u8::ANY, 0..300)
        ) {
            let house = House::new(0);
            let bytes = [&MAGIC[..], &VERSION.to_le_bytes(), &tail].concat();
            fs::write(house.directory.path().join("1-1.pack"), bytes).unwrap();
            house.merged();
        }
    }
}
