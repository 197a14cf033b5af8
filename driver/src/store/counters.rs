//! Reading counter files: everything is checked before a counter is believed.
//!
//! A file is read in pieces of fixed size, never mapped: its process may still live, or somebody may cut it.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::mem::offset_of;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use unseen_abi::counters::{COUNTERS_OFFSET, EXTENSION, Header, MAGIC, MAX_PATH, VERSION, file_size};

use super::{Fault, ModuleId, Problem, Run, pack};

/// How much is read at once.
const PIECE: usize = 1 << 16;

/// The believed header of a counter file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterFile {
    pub file: PathBuf,
    pub pid: u32,
    /// When it was made, in nanoseconds since 1970.
    pub time: u64,
    pub id: ModuleId,
    /// How many counters follow.
    pub count: u64,
    /// The executable or shared object the module was loaded from.
    pub binary: PathBuf,
    /// If it is an entry of a pack, and `file` is that pack: where its bits begin.
    pub bits: Option<u64>,
}

/// The headers of all counter files of a run, packed or not, processes together, in the order of their files' times;
/// beside them what is wrong with the others.
pub fn headers(run: &Run) -> (Vec<CounterFile>, Vec<Problem>) {
    let (mut files, mut problems, mut names) = (Vec::new(), Vec::new(), HashSet::new());
    let mut list = |extension| {
        with_extension(&run.directory, extension).unwrap_or_else(|e| {
            problems.push(Problem { file: run.directory.clone(), fault: e.into() });
            Vec::new()
        })
    };
    // Packs last: what is packed meanwhile is in one before it vanishes.
    let (own, packs) = (list(EXTENSION), list(pack::EXTENSION));
    let mut gone = Vec::new();
    for path in own {
        match header(&path) {
            Ok(file) => {
                names.extend(path.file_name().map(OsStr::to_owned));
                files.push(file);
            }
            Err(Fault::Unreadable(e)) if e.kind() == io::ErrorKind::NotFound => gone.push((path, e)),
            Err(fault) => problems.push(Problem { file: path, fault }),
        }
    }
    for path in packs {
        match pack::entries(&path) {
            Ok(entries) => {
                files.extend(entries.into_iter().filter(|e| names.insert(e.name.clone())).map(|e| e.counters));
            }
            Err(fault) => problems.push(Problem { file: path, fault }),
        }
    }
    gone.retain(|(path, _)| !path.file_name().is_some_and(|name| names.contains(name)));
    problems.extend(gone.into_iter().map(|(file, e)| Problem { file, fault: e.into() }));
    files.sort_by(|a, b| (a.pid, a.time, &a.file).cmp(&(b.pid, b.time, &b.file)));
    problems.sort_by(|a, b| a.file.cmp(&b.file));
    (files, problems)
}

/// The files in a directory with that extension, sorted.
pub fn with_extension(directory: &Path, extension: &str) -> io::Result<Vec<PathBuf>> {
    let paths: io::Result<Vec<_>> = fs::read_dir(directory)?.map(|e| e.map(|e| e.path())).collect();
    let mut paths = paths?;
    paths.retain(|path| path.extension() == Some(OsStr::new(extension)));
    paths.sort();
    Ok(paths)
}

/// Reads and checks the header of one file.
pub fn header(path: &Path) -> Result<CounterFile, Fault> {
    let mut file = open(path)?;
    let size = file.metadata()?.len();
    let mut page = Vec::with_capacity(COUNTERS_OFFSET);
    file.by_ref().take(COUNTERS_OFFSET as u64).read_to_end(&mut page)?;

    match page.get(..MAGIC.len()) {
        Some(magic) if magic == MAGIC => {}
        // The magic is written last: zeros say that the process did not get that far.
        _ if page.iter().take(MAGIC.len()).all(|b| *b == 0) => return Err(Fault::NeverFinished),
        _ => return Err(Fault::Foreign),
    }
    let truncated = |want: u64| Fault::Truncated { have: size, want };
    if page.len() < COUNTERS_OFFSET {
        return Err(truncated(COUNTERS_OFFSET as u64));
    }
    match number32(&page, offset_of!(Header, version)) {
        VERSION => {}
        0 => return Err(Fault::Damaged("version 0")),
        newer => return Err(Fault::Newer(newer)),
    }
    let path_len = number32(&page, offset_of!(Header, path_len)) as usize;
    if path_len > MAX_PATH {
        return Err(Fault::Damaged("the path is longer than its place"));
    }
    let count = number64(&page, offset_of!(Header, counter_count));
    // A manifest numbers counters with 32 bits; this also keeps the size from overflowing.
    if count > u64::from(u32::MAX) {
        return Err(Fault::Damaged("impossibly many counters"));
    }
    if size < COUNTERS_OFFSET as u64 + count {
        return Err(truncated(file_size(count)));
    }
    if size > file_size(count) {
        return Err(Fault::Damaged("longer than its counters"));
    }
    let id = offset_of!(Header, id);
    let id = ModuleId(page[id..id + 16].try_into().expect("16 bytes"));
    if !named_after(path, id) {
        return Err(Fault::WrongModule { id });
    }
    let binary = &page[offset_of!(Header, path)..][..path_len];
    Ok(CounterFile {
        file: path.into(),
        pid: number32(&page, offset_of!(Header, pid)),
        time: number64(&page, offset_of!(Header, time)),
        id,
        count,
        binary: OsStr::from_bytes(binary).into(),
        bits: None,
    })
}

impl CounterFile {
    /// Calls `reached` with the number of each counter that is set.
    pub fn for_each_reached(&self, buffer: &mut Vec<u8>, mut reached: impl FnMut(usize)) -> Result<(), Fault> {
        if let Some(bits) = self.bits {
            return pack::for_each_reached(self, bits, reached);
        }
        let mut file = match open(&self.file) {
            // Packed since its header was read?
            Err(Fault::Unreadable(e)) if e.kind() == io::ErrorKind::NotFound => match pack::find(&self.file) {
                Some(packed) => return packed.for_each_reached(buffer, reached),
                None => return Err(e.into()),
            },
            file => file?,
        };
        file.seek(SeekFrom::Start(COUNTERS_OFFSET as u64))?;
        buffer.resize(PIECE, 0);
        let count = self.count as usize;
        let mut at = 0;
        while at < count {
            let piece = &mut buffer[..PIECE.min(count - at)];
            file.read_exact(piece).map_err(|e| match e.kind() {
                io::ErrorKind::UnexpectedEof => Fault::Truncated { have: at as u64, want: file_size(self.count) },
                _ => e.into(),
            })?;
            // Most of a program is not reached by most of its runs: step over eight zeros at a time.
            for (i, eight) in piece.chunks(8).enumerate() {
                if eight != &[0; 8][..eight.len()] {
                    eight.iter().enumerate().filter(|(_, b)| **b != 0).for_each(|(j, _)| reached(at + 8 * i + j));
                }
            }
            at += piece.len();
        }
        Ok(())
    }
}

/// Never waits: a pipe with our extension must not hang a report.
pub fn open(path: &Path) -> Result<fs::File, Fault> {
    let file = fs::File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(Fault::NotAFile) }
}

/// Files are named `<first 8 digits of the id>-...`. Files that were renamed altogether are believed.
fn named_after(path: &Path, id: ModuleId) -> bool {
    let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
    match name.split(|b| *b == b'-').next() {
        Some(prefix) if prefix.len() == 8 && prefix.iter().all(u8::is_ascii_hexdigit) && prefix.len() < name.len() => {
            id.to_string().as_bytes().starts_with(prefix)
        }
        _ => true,
    }
}

fn number32(page: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(page[at..at + 4].try_into().expect("4 bytes"))
}

fn number64(page: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(page[at..at + 8].try_into().expect("8 bytes"))
}

#[cfg(test)]
pub mod samples {
    //! Counter files as the runtime writes them.

    use super::*;

    /// The bytes of a counter file.
    pub fn bytes(id: [u8; 16], pid: u32, time: u64, binary: &str, counters: &[u8]) -> Vec<u8> {
        let mut out = vec![0; file_size(counters.len() as u64) as usize];
        let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
        put(offset_of!(Header, magic), &MAGIC);
        put(offset_of!(Header, version), &VERSION.to_le_bytes());
        put(offset_of!(Header, pid), &pid.to_le_bytes());
        put(offset_of!(Header, path_len), &(binary.len() as u32).to_le_bytes());
        put(offset_of!(Header, id), &id);
        put(offset_of!(Header, counter_count), &(counters.len() as u64).to_le_bytes());
        put(offset_of!(Header, time), &time.to_le_bytes());
        put(offset_of!(Header, path), binary.as_bytes());
        put(COUNTERS_OFFSET, counters);
        out
    }

    /// Writes such a file into `run`, under the name the runtime gives it.
    pub fn write(run: &Run, id: [u8; 16], pid: u32, time: u64, counters: &[u8]) {
        let name = format!("{}-{pid}-{time:x}.cov", &ModuleId(id).to_string()[..8]);
        fs::write(run.directory.join(name), bytes(id, pid, time, "/bin/sample", counters)).unwrap();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const ID: [u8; 16] = [0xab; 16];

    fn read(name: &str, bytes: &[u8]) -> Result<Vec<usize>, Fault> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        reached(&path)
    }

    fn reached(path: &Path) -> Result<Vec<usize>, Fault> {
        let mut set = Vec::new();
        header(path)?.for_each_reached(&mut Vec::new(), |c| set.push(c))?;
        Ok(set)
    }

    fn sample(count: usize) -> Vec<u8> {
        let counters: Vec<u8> = (0..count).map(|i| u8::from(i % 1000 == 3)).collect();
        samples::bytes(ID, 7, 99, "/bin/x", &counters)
    }

    #[test]
    fn reached_counters_come_back_across_pieces() {
        assert_eq!(read("a.cov", &sample(10)).unwrap(), [3]);
        let expected: Vec<usize> = (0..200_001).filter(|i| i % 1000 == 3).collect();
        assert_eq!(read("a.cov", &sample(200_001)).unwrap(), expected);
        assert!(read("a.cov", &sample(0)).unwrap().is_empty());
    }

    #[test]
    fn a_file_cut_at_any_byte_is_a_problem_or_complete() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("abababab-7-63.cov");
        fs::write(&path, sample(100)).unwrap();
        for cut in (0..sample(100).len()).rev() {
            fs::File::options().write(true).open(&path).unwrap().set_len(cut as u64).unwrap();
            match reached(&path) {
                Ok(set) => assert!(cut >= COUNTERS_OFFSET + 100 && set == [3], "cut {cut}"),
                Err(Fault::NeverFinished) => assert_eq!(cut, 0),
                Err(Fault::Foreign) => assert!(cut < MAGIC.len()),
                Err(Fault::Truncated { have, .. }) => assert_eq!(have, cut as u64),
                Err(other) => panic!("cut {cut}: {other}"),
            }
        }
    }

    #[test]
    fn each_fault_is_told_by_its_name() {
        let with = |at: usize, bytes: &[u8]| {
            let mut file = sample(100);
            file[at..at + bytes.len()].copy_from_slice(bytes);
            read("abababab-7-63.cov", &file).unwrap_err()
        };
        assert!(matches!(with(0, &[0; 8]), Fault::NeverFinished));
        assert!(matches!(with(0, b"\x7fELF"), Fault::Foreign));
        assert!(matches!(with(offset_of!(Header, version), &[9]), Fault::Newer(9)));
        assert!(matches!(with(offset_of!(Header, version), &[0]), Fault::Damaged(_)));
        assert!(matches!(with(offset_of!(Header, path_len), &[255; 4]), Fault::Damaged(_)));
        assert!(matches!(with(offset_of!(Header, counter_count), &[255; 8]), Fault::Damaged(_)));
        assert!(matches!(with(offset_of!(Header, counter_count), &[0, 255]), Fault::Truncated { .. }));
        assert!(matches!(with(offset_of!(Header, counter_count), &[0, 0]), Fault::Damaged(_)));
        assert!(matches!(with(offset_of!(Header, id), &[1]), Fault::WrongModule { .. }));
    }

    #[test]
    fn what_is_no_file_or_may_not_be_read_is_a_problem_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let run = Run { name: "r".into(), directory: dir.path().into() };
        fs::create_dir(dir.path().join("directory.cov")).unwrap();
        let fifo = std::ffi::CString::new(dir.path().join("pipe.cov").as_os_str().as_bytes()).unwrap();
        // SAFETY: the path is a NUL-terminated string that outlives the call.
        assert_eq!(unsafe { libc::mkfifo(fifo.as_ptr(), 0o600) }, 0);
        fs::write(dir.path().join("secret.cov"), sample(1)).unwrap();
        fs::set_permissions(dir.path().join("secret.cov"), fs::Permissions::from_mode(0o000)).unwrap();
        fs::write(dir.path().join("fine.cov"), sample(1)).unwrap();
        fs::write(dir.path().join("events"), "not counters").unwrap();
        let (files, problems) = headers(&run);
        let bad: Vec<_> = problems.iter().map(|p| p.file.file_name().unwrap().to_str().unwrap()).collect();
        // Permissions stop everybody but root.
        // SAFETY: no preconditions.
        if unsafe { libc::geteuid() } == 0 {
            assert_eq!((bad, files.len()), (vec!["directory.cov", "pipe.cov"], 2));
        } else {
            assert_eq!((bad, files.len()), (vec!["directory.cov", "pipe.cov", "secret.cov"], 1));
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

        #[test]
        fn garbage_is_never_believed(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..9000)) {
            proptest::prop_assert!(read("x.cov", &bytes).is_err());
        }

        #[test]
        fn garbage_behind_the_magic_neither_panics_nor_reads_too_much(
            tail in proptest::collection::vec(proptest::num::u8::ANY, 0..9000)
        ) {
            let bytes = [&MAGIC[..], &VERSION.to_le_bytes(), &tail].concat();
            if let Ok(set) = read("x.cov", &bytes) {
                proptest::prop_assert!(set.iter().all(|c| COUNTERS_OFFSET + c < bytes.len()));
            }
        }
    }
}
