//! Seen sets: those of a store, exported ones, and how states get from the one to the other.
//!
//! In: a store, or files. Out: [`States`] of builds, and what their files are like; states that were imported. A file that a program may have
//! mapped is read ([`super::steady`]), and never written: what is imported becomes the set of a build that has none, else it waits in a
//! directory beside the set until a program of the build starts, which takes it over.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use unseen_abi::seen::exported::{self, Fault, States};
use unseen_abi::seen::file::{Seen, Unreadable, make};
use unseen_abi::seen::{self, Content, Format, Key, LINES_OFFSET, NarrowFormat, WIDE_SUFFIX, WideFormat, file_size};
use unseen_abi::store::IMPORTS;

use super::{ModuleId, Store, events, steady};

/// So many states are in a file that waits, so that whoever takes them over and is killed need not begin from the start.
const PART: usize = 1 << 20;
/// How often a program may remove the directory of what waits while we put something there.
const ATTEMPTS: usize = 1000;

/// What is wrong with a seen set.
#[derive(Debug, thiserror::Error)]
pub enum SeenError {
    #[error("cannot read {}: {}", .0.display(), .1)]
    Unreadable(PathBuf, io::Error),
    #[error("{} is no seen set, neither exported nor of a store", .0.display())]
    Foreign(PathBuf),
    #[error("{} is {}", .0.display(), .1)]
    Exported(PathBuf, Fault),
    #[error("{} is {}", .0.display(), .1)]
    Table(PathBuf, Unreadable),
    #[error("{} is a seen set that is cut short: it has {have} of {want} bytes", .file.display())]
    Cut { file: PathBuf, have: u64, want: u64 },
    #[error("{} is of build {found}, not of {wanted}", .file.display())]
    OtherBuild { file: PathBuf, found: ModuleId, wanted: ModuleId },
    #[error("cannot write {}: {}", .0.display(), .1)]
    Unwritable(PathBuf, io::Error),
}

impl SeenError {
    /// The file, or the directory.
    pub fn path(&self) -> &Path {
        match self {
            SeenError::Foreign(file)
            | SeenError::Unreadable(file, _)
            | SeenError::Exported(file, _)
            | SeenError::Table(file, _)
            | SeenError::Unwritable(file, _)
            | SeenError::Cut { file, .. }
            | SeenError::OtherBuild { file, .. } => file,
        }
    }
}

/// What a file of a store's set is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    pub is_wide: bool,
    pub bytes: u64,
    /// Lines in use.
    pub lines: u64,
    /// How many states the lines have room for.
    pub room: u64,
    /// Places that are taken. A state that was on its way to another line may have two.
    pub taken: u64,
    /// Narrow: whether some found no place and are among the wide. Wide: never.
    pub is_spilled: bool,
}

/// What a file, or a store, has of a build.
#[derive(Debug)]
pub struct Set {
    pub states: States,
    /// The files in which programs keep it; none for an exported one.
    pub tables: Vec<Table>,
    /// How many narrow states are in the file of wide ones.
    pub spilled: u64,
    /// How many states wait in files for a program to take them over.
    pub waiting: usize,
    /// Bytes of all files.
    pub bytes: u64,
}

impl Set {
    fn new(id: ModuleId) -> Set {
        let states = States::new(id.0, Vec::new(), Vec::new());
        Set { states, tables: Vec::new(), spilled: 0, waiting: 0, bytes: 0 }
    }

    /// Adds what a file has.
    fn add(&mut self, file: &Path, bytes: &[u8]) -> Result<(), SeenError> {
        let found = match build_of(bytes) {
            Some(found) if found.0 != self.states.id => {
                let wanted = ModuleId(self.states.id);
                return Err(SeenError::OtherBuild { file: file.into(), found, wanted });
            }
            _ if bytes.starts_with(&seen::MAGIC) => self.add_table(file, bytes)?,
            _ => States::decode(bytes).map_err(|fault| match fault {
                Fault::Foreign => SeenError::Foreign(file.into()),
                fault => SeenError::Exported(file.into(), fault),
            })?,
        };
        self.bytes += bytes.len() as u64;
        let none = States::new(found.id, Vec::new(), Vec::new());
        self.states = std::mem::replace(&mut self.states, none).union(found);
        Ok(())
    }

    fn add_table(&mut self, file: &Path, bytes: &[u8]) -> Result<States, SeenError> {
        let (id, have) = (self.states.id, bytes.len() as u64);
        if have < LINES_OFFSET as u64 {
            return Err(SeenError::Cut { file: file.into(), have, want: LINES_OFFSET as u64 });
        }
        if let Err(Unreadable::Foreign) = Seen::read::<NarrowFormat>(bytes) {
            let keys: Vec<Key> = self.table::<WideFormat>(file, bytes)?;
            let (mut narrow, mut wide) = (Vec::new(), Vec::new());
            for key in keys {
                match key {
                    Key::Narrow(key) => narrow.push(key),
                    Key::Wide(key) => wide.push(key),
                }
            }
            self.spilled += narrow.len() as u64;
            return Ok(States::new(id, narrow, wide));
        }
        Ok(States::new(id, self.table::<NarrowFormat>(file, bytes)?, Vec::new()))
    }

    fn table<F: Format>(&mut self, file: &Path, bytes: &[u8]) -> Result<Vec<F::Key>, SeenError> {
        let seen = Seen::read::<F>(bytes).map_err(|e| SeenError::Table(file.into(), e))?;
        let (have, want) = (bytes.len() as u64, file_size(seen.lines));
        if have < want {
            return Err(SeenError::Cut { file: file.into(), have, want });
        }
        let keys: Vec<_> = seen.keys::<F>().collect();
        self.tables.push(Table {
            is_wide: F::WIDTH == WideFormat::WIDTH,
            bytes: have,
            lines: seen.lines,
            room: seen.lines * F::SLOTS as u64,
            taken: keys.len() as u64,
            is_spilled: seen.spilled,
        });
        Ok(keys)
    }
}

fn read(file: &Path) -> Result<Vec<u8>, SeenError> {
    steady::read(file).map_err(|e| SeenError::Unreadable(file.into(), e))
}

/// The build that a file says it is of.
fn build_of(bytes: &[u8]) -> Option<ModuleId> {
    let is_ours = bytes.starts_with(&seen::MAGIC) || bytes.starts_with(&exported::MAGIC);
    bytes.get(16..32).filter(|_| is_ours)?.try_into().ok().map(ModuleId)
}

/// Whether a file begins like a seen set.
pub fn is_set(file: &Path) -> bool {
    let mut begin = [0; 8];
    let read = fs::File::open(file).and_then(|mut f| io::Read::read_exact(&mut f, &mut begin));
    read.is_ok() && [seen::MAGIC, exported::MAGIC].contains(&begin)
}

/// Reads an exported set, or a file of a store's set. With that of narrow states comes the one of wide states beside it.
pub fn read_file(file: &Path) -> Result<Set, SeenError> {
    let bytes = read(file)?;
    let id = build_of(&bytes).ok_or_else(|| match States::decode(&bytes) {
        Err(fault @ Fault::Cut { .. }) => SeenError::Exported(file.into(), fault),
        _ => SeenError::Foreign(file.into()),
    })?;
    let mut set = Set::new(id);
    set.add(file, &bytes)?;
    let wide = with_suffix(file, WIDE_SUFFIX);
    if set.tables.iter().any(|t| !t.is_wide) && wide.exists() {
        set.add(&wide, &read(&wide)?)?;
    }
    Ok(set)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The builds of which a store has states.
pub fn builds(store: &Store) -> Result<Vec<ModuleId>, SeenError> {
    let unreadable = |e| SeenError::Unreadable(store.seen(), e);
    let entries = match fs::read_dir(store.seen()) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        result => result.map_err(unreadable)?,
    };
    let mut all = BTreeSet::new();
    for entry in entries {
        let name = entry.map_err(unreadable)?.file_name();
        let Some(name) = name.to_str() else { continue };
        let name = name.strip_suffix(WIDE_SUFFIX).or(name.strip_suffix(IMPORTS)).unwrap_or(name);
        all.extend(ModuleId::parse(name));
    }
    Ok(all.into_iter().collect())
}

/// What a store has of a build, also what waits; and what of it can't be used.
pub fn of_build(store: &Store, id: ModuleId) -> (Set, Vec<SeenError>) {
    let (mut set, mut problems) = (Set::new(id), Vec::new());
    let mut add = |set: &mut Set, file: &Path| match read(file).and_then(|bytes| set.add(file, &bytes)) {
        Ok(()) => {}
        // What waited was taken over, or there is no such file.
        Err(SeenError::Unreadable(_, e)) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => problems.push(e),
    };
    // In the order in which states move, so that none is missed on its way.
    let live = store.seen_set(id);
    for file in waiting(&with_suffix(&live, IMPORTS)) {
        add(&mut set, &file);
    }
    set.waiting = set.states.count();
    add(&mut set, &live);
    add(&mut set, &with_suffix(&live, WIDE_SUFFIX));
    (set, problems)
}

/// The files that wait in a directory; those that are not finished begin with a dot.
fn waiting(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let is_finished = |e: &fs::DirEntry| !e.file_name().as_encoded_bytes().starts_with(b".");
    let mut all: Vec<_> = entries.filter(is_finished).map(|e| e.path()).collect();
    all.sort();
    all
}

/// What became of states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imported {
    /// How many the store did not have.
    pub new: usize,
    /// Whether they wait for a program of the build to start.
    pub is_waiting: bool,
}

/// Puts states into a store. May be done while programs run; killed at any moment it leaves what was there, and some or all of the rest.
pub fn import(store: &Store, states: States) -> Result<Imported, SeenError> {
    let id = ModuleId(states.id);
    let (known, problems) = of_build(store, id);
    // A set that programs refuse would never take anything over. What waits and is damaged harms nobody.
    if let Some(problem) = problems.into_iter().find(|p| p.path().parent() == Some(&store.seen())) {
        return Err(problem);
    }
    let states = states.without(&known.states);
    let new = states.count();
    if new == 0 {
        return Ok(Imported { new, is_waiting: false });
    }
    let live = store.seen_set(id);
    let unwritable = |e| SeenError::Unwritable(store.seen(), e);
    fs::create_dir_all(store.seen()).map_err(unwritable)?;
    if known.tables.is_empty() && become_live(&live, &states).map_err(unwritable)? {
        return Ok(Imported { new, is_waiting: false });
    }
    let directory = with_suffix(&live, IMPORTS);
    for part in states.parts(PART) {
        wait(&directory, &part).map_err(|e| SeenError::Unwritable(directory.clone(), e))?;
    }
    Ok(Imported { new, is_waiting: true })
}

/// Makes the set of a build that has none. False if there is one after all.
fn become_live(live: &Path, states: &States) -> io::Result<bool> {
    let nonce = events::now().rotate_left(24) ^ u64::from(std::process::id());
    let (narrow, spilled) = make::<NarrowFormat>(states.id, nonce, states.narrow());
    let wide: Vec<Key> =
        states.wide().iter().copied().map(Key::Wide).chain(spilled.into_iter().map(Key::Narrow)).collect();
    let (wide, _) = make::<WideFormat>(states.id, nonce, &wide);
    // Both are on disk before the first has its name. The wide first: the other may say that it goes on there.
    let directory = live.parent().unwrap_or(live);
    let (wide, narrow) = (finished(directory, &wide)?, finished(directory, &narrow)?);
    for (file, path) in [(wide, with_suffix(live, WIDE_SUFFIX)), (narrow, live.to_owned())] {
        match file.persist_noclobber(path) {
            Ok(_) => {}
            Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            Err(e) => return Err(e.error),
        }
    }
    Ok(true)
}

/// Leaves states for the next program of the build.
fn wait(directory: &Path, states: &States) -> io::Result<()> {
    let (bytes, checksum) = states.encode();
    for _ in 0..ATTEMPTS {
        match fs::create_dir(directory) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
            _ => {}
        }
        match finished(directory, &bytes) {
            // A program took all that was there, and removed the directory.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            result => {
                return result?.persist(directory.join(format!("{checksum:016x}"))).map(drop).map_err(|e| e.error);
            }
        }
    }
    Err(io::Error::from(io::ErrorKind::NotFound))
}

/// A file with that content, on disk, which has no name yet.
fn finished(directory: &Path, content: &[u8]) -> io::Result<NamedTempFile> {
    // Readable for others as the umask allows: a store may be shared.
    let mut file = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o666)).tempfile_in(directory)?;
    file.write_all(content)?;
    // A name that outlives a crash of the machine without what it names would be taken for a damaged set.
    file.as_file().sync_all()?;
    Ok(file)
}

#[cfg(test)]
mod tests;
