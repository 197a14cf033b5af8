//! Where things lie in a store: the only file that knows the names of its directories.
//!
//! ```text
//! .unseen/
//!   store.json               {"version":1}
//!   runs/<name>/events       what happened (unseen_abi::event)
//!   runs/<name>/*.cov        one per process and module (unseen_abi::counters)
//!   runs/<name>/*.pack       those of many dead processes in one ([`super::pack`])
//!   manifests/<id>.manifest  what the pass said about a module (unseen_abi::manifest)
//!   seen/<id>, <id>-wide     states that tests of a build have seen (unseen_abi::seen)
//!   seen/<id>.import/        those of other stores, until a program of the build starts (unseen_abi::seen::exported)
//!   manifests/<id>.units     which tests are attached to its functions (unseen_abi::state)
//! ```

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::ModuleId;

/// Version of the layout.
const VERSION: u64 = 1;
/// Where a store is when nobody says otherwise.
const DEFAULT: &str = ".unseen";

/// A store that may be read, or written.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

/// Why a store can't be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("there is no store at {}", .0.display())]
    Missing(PathBuf),
    #[error("{0:?} cannot name a run: it becomes a directory")]
    Name(String),
    #[error("{} is not a store: {}", .0.display(), .1)]
    Foreign(PathBuf, String),
    #[error("the store {} has version {}, this build of Unseen reads up to {VERSION}", .0.display(), .1)]
    Newer(PathBuf, u64),
    #[error("cannot read the store {}: {}", .0.display(), .1)]
    Unreadable(PathBuf, io::Error),
    #[error("cannot write the store {}: {}", .0.display(), .1)]
    Unwritable(PathBuf, io::Error),
}

#[derive(serde::Serialize, serde::Deserialize)]
struct StoreFile {
    version: u64,
}

/// The directory to write to: the flag, else `UNSEEN_DIR`, else `.unseen`.
pub fn choose(flag: Option<&Path>) -> PathBuf {
    chosen(flag).unwrap_or_else(|| DEFAULT.into())
}

/// The directory to read from: the same, but without a choice the nearest `.unseen` here or above, since cargo's runs
/// are kept at the root of the workspace.
pub fn find(flag: Option<&Path>) -> PathBuf {
    let nearest = || {
        let cwd = std::env::current_dir().ok()?;
        cwd.ancestors().skip(1).map(|d| d.join(DEFAULT)).find(|d| d.join(unseen_abi::store::RUNS).is_dir())
    };
    let here = || Some(PathBuf::from(DEFAULT)).filter(|d| d.exists());
    chosen(flag).or_else(here).or_else(nearest).unwrap_or_else(|| DEFAULT.into())
}

fn chosen(flag: Option<&Path>) -> Option<PathBuf> {
    let from_environment = || std::env::var_os(unseen_abi::options::DIR.name).filter(|v| !v.is_empty());
    flag.map(Path::to_path_buf).or_else(|| from_environment().map(PathBuf::from))
}

impl Store {
    /// A store for reading.
    pub fn open(root: &Path) -> Result<Store, StoreError> {
        match fs::metadata(root) {
            Ok(m) if m.is_dir() => {}
            Ok(_) => return Err(StoreError::Foreign(root.into(), "it is not a directory".into())),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(StoreError::Missing(root.into())),
            Err(e) => return Err(StoreError::Unreadable(root.into(), e)),
        }
        let store = Store { root: root.into() };
        store.check_version()?;
        Ok(store)
    }

    /// A store for writing; made if it isn't there. Its path becomes absolute: programs change directory.
    pub fn create(root: &Path) -> Result<Store, StoreError> {
        let unwritable = |e| StoreError::Unwritable(root.into(), e);
        let store = Store { root: std::path::absolute(root).map_err(unwritable)? };
        fs::create_dir_all(store.runs()).map_err(unwritable)?;
        fs::create_dir_all(store.manifests()).map_err(unwritable)?;
        if !store.check_version()? {
            let text = serde_json::to_string(&StoreFile { version: VERSION }).expect("plain data");
            store.write_whole(&store.version_file(), text.as_bytes()).map_err(unwritable)?;
        }
        Ok(store)
    }

    /// The directory of the whole store.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The directory of all runs.
    pub fn runs(&self) -> PathBuf {
        self.root.join(unseen_abi::store::RUNS)
    }

    /// The directory of one run.
    pub fn run(&self, name: &OsStr) -> PathBuf {
        self.runs().join(name)
    }

    /// The saved manifest of a module.
    pub fn manifest(&self, id: ModuleId) -> PathBuf {
        self.manifests().join(format!("{id}.manifest"))
    }

    /// The directory of all seen sets.
    pub fn seen(&self) -> PathBuf {
        self.root.join(unseen_abi::store::SEEN)
    }

    /// The seen set of a build.
    pub fn seen_set(&self, id: ModuleId) -> PathBuf {
        self.seen().join(id.to_string())
    }

    /// The saved list of a module's tests.
    pub fn units(&self, id: ModuleId) -> PathBuf {
        self.manifests().join(format!("{id}.units"))
    }

    /// Writes a file of this store so that it appears whole or not at all.
    pub fn write_whole(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        // Readable for others as the umask allows: a store may be shared.
        let mut file = tempfile::Builder::new()
            .permissions(fs::Permissions::from_mode(0o666))
            .tempfile_in(path.parent().unwrap_or(&self.root))?;
        file.write_all(content)?;
        file.persist(path)?;
        Ok(())
    }

    fn manifests(&self) -> PathBuf {
        self.root.join("manifests")
    }

    fn version_file(&self) -> PathBuf {
        self.root.join("store.json")
    }

    /// Whether the version is written down. A store made by a program alone has none and is read as ours.
    fn check_version(&self) -> Result<bool, StoreError> {
        let text = match fs::read_to_string(self.version_file()) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(e) => return Err(StoreError::Unreadable(self.version_file(), e)),
        };
        match serde_json::from_str::<StoreFile>(&text) {
            Ok(StoreFile { version: VERSION }) => Ok(true),
            Ok(StoreFile { version }) if version > VERSION => Err(StoreError::Newer(self.root.clone(), version)),
            Ok(StoreFile { version }) => {
                Err(StoreError::Foreign(self.root.clone(), format!("store.json has version {version}")))
            }
            Err(e) => Err(StoreError::Foreign(self.root.clone(), format!("store.json: {e}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_store_opens_and_is_made_twice_without_harm() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("deep/store");
        Store::create(&root).unwrap();
        Store::create(&root).unwrap();
        Store::open(&root).unwrap();
        assert_eq!(fs::read_to_string(root.join("store.json")).unwrap(), r#"{"version":1}"#);
    }

    #[test]
    fn other_versions_and_foreign_directories_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let with = |text: &str| {
            fs::write(dir.path().join("store.json"), text).unwrap();
            Store::open(dir.path()).unwrap_err()
        };
        assert!(matches!(with(r#"{"version":2}"#), StoreError::Newer(_, 2)));
        assert!(matches!(with(r#"{"version":0}"#), StoreError::Foreign(..)));
        assert!(matches!(with("garbage"), StoreError::Foreign(..)));
        assert!(matches!(with(""), StoreError::Foreign(..)));
        assert!(matches!(Store::open(&dir.path().join("none")), Err(StoreError::Missing(_))));
        assert!(matches!(Store::open(&dir.path().join("store.json")), Err(StoreError::Foreign(..))));
    }

    #[test]
    fn a_store_below_a_file_is_unwritable() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(Store::create(&file.path().join("store")), Err(StoreError::Unwritable(..))));
    }
}
