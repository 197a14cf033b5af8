//! Builds small C programs that hold what the pass emits (`module.h`), links them with the runtime, runs them with a store,
//! and reads what they left behind.
#![allow(dead_code, reason = "each test file uses its part")]

use std::ffi::OsStr;
use std::fs;
use std::mem::offset_of;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use tempfile::TempDir;
use unseen_abi::counters::{COUNTERS_OFFSET, EXTENSION, Header, MAGIC, VERSION, file_size};
use unseen_abi::event::{self, Kind, Read};

/// The checked-out repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The runtime archive, built when needed.
pub fn runtime() -> &'static Path {
    static ARCHIVE: OnceLock<PathBuf> = OnceLock::new();
    ARCHIVE.get_or_init(|| build_runtime(&[]).join("libunseen_rt.a"))
}

/// The sandbox with entry points for tests (`trial.h`), built when needed.
pub fn trial() -> &'static Path {
    static ARCHIVE: OnceLock<PathBuf> = OnceLock::new();
    ARCHIVE.get_or_init(|| build_runtime(&["trial"]).join("libunseen_trial.a"))
}

/// Where the archives are.
fn build_runtime(arguments: &[&str]) -> PathBuf {
    let build = repository().join("scripts/build-runtime");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    succeed(Command::new(build).args(arguments).env("CARGO_TARGET_DIR", target));
    target.join("release")
}

/// A tool of LLVM 22.
pub fn llvm(tool: &str) -> Command {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    let prefix = PREFIX.get_or_init(|| match std::env::var_os("UNSEEN_LLVM") {
        Some(prefix) => prefix.into(),
        None => succeed(Command::new("llvm-config-22").arg("--prefix")).trim().into(),
    });
    Command::new(prefix.join("bin").join(tool))
}

/// Runs a command that must succeed; gives its output.
#[track_caller]
pub fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(output.status.success(), "{command:?}: {output:#?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Whether this test may do what only root may.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Says on standard error that a part of a test can't be run here.
pub fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

/// A directory in which programs are built.
pub struct Bench {
    directory: TempDir,
}

impl Bench {
    /// An empty one.
    pub fn new() -> Bench {
        Bench { directory: TempDir::with_prefix("unseen-rt-").unwrap() }
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Compiles C source and links it with the runtime into `name`. `module.h` can be included.
    #[track_caller]
    pub fn build(&self, name: &str, source: &str, flags: &[&str]) -> PathBuf {
        self.build_with(&mut self.clang(), name, source, flags)
    }

    /// The same, with another compiler.
    #[track_caller]
    pub fn build_with(&self, compiler: &mut Command, name: &str, source: &str, flags: &[&str]) -> PathBuf {
        self.link_with(compiler, name, source, flags, runtime())
    }

    /// The same, linked with that archive.
    #[track_caller]
    pub fn link_with(
        &self,
        compiler: &mut Command,
        name: &str,
        source: &str,
        flags: &[&str],
        archive: &Path,
    ) -> PathBuf {
        let c = self.path(&format!("{name}.c"));
        fs::write(&c, format!("#define _GNU_SOURCE\n{source}")).unwrap();
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support");
        compiler.arg("-O1").arg("-I").arg(include).arg("-o").arg(self.path(name)).arg(c);
        succeed(compiler.args(flags).arg(archive));
        self.path(name)
    }

    /// Runs a program in a directory of its own, by this user, and by one without rights if this one has them. Gives its last output.
    #[track_caller]
    pub fn run_as_all(&self, program: &Path) -> String {
        use std::os::unix::fs::{PermissionsExt, chown};
        use std::os::unix::process::CommandExt;
        const NOBODY: u32 = 65534;
        let mut output = String::new();
        for (name, user) in [("mine", None), ("nobodys", Some(NOBODY))] {
            let directory = self.path(name);
            fs::create_dir(&directory).unwrap();
            let mut command = Command::new(program);
            command.current_dir(&directory).env("TRIAL", &directory);
            if let Some(user) = user {
                if !is_root() {
                    break;
                }
                fs::set_permissions(self.directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
                chown(&directory, Some(user), Some(user)).unwrap();
                command.uid(user).gid(user);
            }
            output = run(&mut command, End::Exit(0));
        }
        output
    }

    /// The compiler and linker Unseen uses.
    pub fn clang(&self) -> Command {
        let lld = llvm("ld.lld").get_program().to_owned();
        let mut clang = llvm("clang");
        clang.arg(format!("--ld-path={}", Path::new(&lld).display()));
        clang
    }

    /// Builds a program and runs it with a fresh store: the common case. It must end as `expected` says.
    #[track_caller]
    pub fn run(&self, source: &str, expected: End) -> Store {
        let program = self.build("program", source, &[]);
        let store = Store::new();
        store.run(&program, expected);
        store
    }
}

/// How a program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Exit(i32),
    Signal(i32),
}

/// The `ModuleRecord` and id of `module.h`, with its first byte.
pub fn id(first: u8) -> [u8; 16] {
    [first, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
}

/// A store, in a directory of its own.
pub struct Store {
    directory: TempDir,
}

impl Store {
    /// A directory in which nothing is yet: the runtime makes the store.
    pub fn new() -> Store {
        Store { directory: TempDir::with_prefix("unseen-store-").unwrap() }
    }

    /// What `UNSEEN_DIR` is set to.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("store")
    }

    /// The directory around the store.
    pub fn around(&self) -> &Path {
        self.directory.path()
    }

    /// Where runs without a name are.
    pub fn direct(&self) -> PathBuf {
        self.path().join("runs/direct")
    }

    /// A command that records here and knows no other `UNSEEN` variable.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"UNSEEN") {
                command.env_remove(name);
            }
        }
        command.env("UNSEEN_DIR", self.path());
        command
    }

    /// Runs a program, which must end as expected; gives its output.
    #[track_caller]
    pub fn run(&self, program: &Path, expected: End) -> String {
        run(&mut self.command(program), expected)
    }

    /// The counter files of runs without a name, in the order in which they were made.
    #[track_caller]
    pub fn counts(&self) -> Vec<Counts> {
        counts(&self.direct())
    }

    /// The only counter file.
    #[track_caller]
    pub fn only(&self) -> Counts {
        let mut all = self.counts();
        assert_eq!(all.len(), 1, "{all:#?}");
        all.remove(0)
    }

    /// The events of runs without a name.
    #[track_caller]
    pub fn events(&self) -> Vec<Event> {
        events(&self.direct())
    }

    /// What was dropped and why, of runs without a name.
    pub fn dropped(&self) -> Vec<(String, String)> {
        let dropped = self.events().into_iter().filter(|e| e.kind == Kind::Dropped);
        dropped.map(|e| (e.fields[2].clone(), e.fields[3].clone())).collect()
    }

    /// Whether nothing was written at all.
    pub fn is_empty(&self) -> bool {
        fs::read_dir(self.around()).unwrap().next().is_none()
    }
}

/// Runs a command, which must end as expected; gives its output.
#[track_caller]
pub fn run(command: &mut Command, expected: End) -> String {
    use std::os::unix::process::ExitStatusExt;
    let Output { status, stdout, stderr } =
        command.output().unwrap_or_else(|e| panic!("{:?}: {e}", command.get_program()));
    let end = status.code().map_or_else(|| End::Signal(status.signal().unwrap()), End::Exit);
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert_eq!(end, expected, "{:?}\n{stdout}\n{stderr}", command.get_program());
    stdout.into_owned()
}

/// A counter file.
#[derive(PartialEq, Eq, Debug)]
pub struct Counts {
    pub name: String,
    pub pid: u32,
    pub parent: u32,
    pub time: u64,
    pub id: [u8; 16],
    pub path: PathBuf,
    pub counters: Vec<u8>,
}

impl Counts {
    /// Which counters were hit.
    pub fn hits(&self) -> Vec<usize> {
        (0..self.counters.len()).filter(|i| self.counters[*i] != 0).collect()
    }
}

/// Reads the counter files of a run. Each must be whole.
#[track_caller]
pub fn counts(run: &Path) -> Vec<Counts> {
    let Ok(entries) = fs::read_dir(run) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = paths.filter(|path| path.extension() == Some(EXTENSION.as_ref())).map(read_counts).collect();
    all.sort_by_key(|c| c.time);
    all
}

fn read_counts(path: PathBuf) -> Counts {
    let bytes = fs::read(&path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    assert_eq!(bytes[..8], MAGIC, "{name}");
    assert_eq!(u32_at(offset_of!(Header, version)), VERSION, "{name}");
    let count = u64_at(offset_of!(Header, counter_count));
    assert_eq!(bytes.len() as u64, file_size(count), "{name}");
    let (counters, rest) = bytes[COUNTERS_OFFSET..].split_at(count as usize);
    assert!(rest.iter().all(|b| *b == 0), "{name}: something behind the counters");
    let path = &bytes[offset_of!(Header, path)..][..u32_at(offset_of!(Header, path_len)) as usize];
    let counts = Counts {
        pid: u32_at(offset_of!(Header, pid)),
        parent: u32_at(offset_of!(Header, parent)),
        time: u64_at(offset_of!(Header, time)),
        id: bytes[offset_of!(Header, id)..][..16].try_into().unwrap(),
        path: String::from_utf8(path.to_vec()).unwrap().into(),
        counters: counters.to_vec(),
        name,
    };
    let [a, b, c, d, ..] = counts.id;
    let expected = format!("{a:02x}{b:02x}{c:02x}{d:02x}-{}-{:x}.cov", counts.pid, counts.time);
    assert_eq!(counts.name, expected);
    counts
}

/// An event record.
#[derive(PartialEq, Eq, Debug)]
pub struct Event {
    pub kind: Kind,
    pub fields: Vec<String>,
}

/// Reads the event log of a run. Every record must be whole.
#[track_caller]
pub fn events(run: &Path) -> Vec<Event> {
    let log = fs::read(run.join(event::FILE)).unwrap_or_default();
    let mut rest = &log[..];
    let mut all = Vec::new();
    loop {
        match event::read(rest) {
            Read::Record(kind, payload, next) => {
                let fields = payload.split(|b| *b == 0).map(|f| String::from_utf8(f.to_vec()).unwrap()).collect();
                all.push(Event { kind: Kind::from_number(kind).unwrap(), fields });
                rest = next;
            }
            Read::End => return all,
            other => panic!("{other:?}"),
        }
    }
}
