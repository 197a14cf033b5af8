//! What the pass said about each module: taken out of binaries, kept in the store, found again by id.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use object::read::{Object, ObjectSection, ReadCache};
use unseen_abi::manifest::{self, Manifest};
use unseen_abi::{records, sections};

use super::{ModuleId, Store};

/// Why a binary gives no manifest.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ExtractError {
    #[error("{} cannot be read: {}", .0.display(), .1)]
    Unreadable(PathBuf, String),
    #[error("{} is not an ELF executable or shared object", .0.display())]
    NotElf(PathBuf),
    #[error("{} has no Unseen manifest: it was not built with Unseen, or its sections were removed", .0.display())]
    None(PathBuf),
    #[error("{}: {}", .0.display(), .1)]
    Bad(PathBuf, records::Error),
}

/// Why the manifest of a recorded module can't be had.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("no saved manifest for module {id}, and {} is gone", binary.display())]
    Gone { id: ModuleId, binary: PathBuf },
    #[error(
        "{} was rebuilt since this was recorded (it is module {now} now, these counters are of {id}), \
         and the old manifest was not saved; run it again",
        binary.display()
    )]
    Rebuilt { id: ModuleId, now: ModuleId, binary: PathBuf },
    #[error("no usable manifest for module {id}: {reason}")]
    Unusable { id: ModuleId, reason: ExtractError },
}

impl LoadError {
    /// The module that was looked for.
    pub fn id(&self) -> ModuleId {
        match self {
            LoadError::Gone { id, .. } | LoadError::Rebuilt { id, .. } | LoadError::Unusable { id, .. } => *id,
        }
    }
}

/// All manifests of a binary.
pub fn extract(binary: &Path) -> Result<Vec<Manifest>, ExtractError> {
    let bytes = section(binary, sections::MANIFEST)?;
    match Manifest::decode_all(&bytes) {
        Ok(manifests) if manifests.is_empty() => Err(ExtractError::None(binary.into())),
        Ok(manifests) => Ok(manifests),
        Err(e) => Err(ExtractError::Bad(binary.into(), e)),
    }
}

/// Reads only the one section: debug info can be gigabytes.
pub(super) fn section(binary: &Path, name: &str) -> Result<Vec<u8>, ExtractError> {
    let unreadable = |e: io::Error| ExtractError::Unreadable(binary.into(), e.to_string());
    let file = fs::File::open(binary).map_err(unreadable)?;
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(ExtractError::NotElf(binary.into()));
    }
    let cache = ReadCache::new(file);
    let elf = object::File::parse(&cache).map_err(|_| ExtractError::NotElf(binary.into()))?;
    let section = elf.section_by_name(name).ok_or_else(|| ExtractError::None(binary.into()))?;
    let damaged = |_| ExtractError::Bad(binary.into(), manifest::FORM.damaged());
    Ok(section.data().map_err(damaged)?.to_vec())
}

/// Keeps a manifest in the store; one that is there already stays.
pub fn save(store: &Store, manifest: &Manifest) -> io::Result<()> {
    let path = store.manifest(ModuleId(manifest.id));
    if path.exists() { Ok(()) } else { store.write_whole(&path, &manifest.encode()) }
}

/// Finds manifests by module id, in the store or in binaries; each binary is read once.
pub struct Finder<'a> {
    store: &'a Store,
    binaries: HashMap<PathBuf, Result<HashMap<ModuleId, Manifest>, ExtractError>>,
}

impl<'a> Finder<'a> {
    pub fn new(store: &'a Store) -> Finder<'a> {
        Finder { store, binaries: HashMap::new() }
    }

    /// Where it looks first.
    pub fn store(&self) -> &'a Store {
        self.store
    }

    /// The manifest of a module that was loaded from `binary` when it was recorded.
    pub fn find(&mut self, id: ModuleId, binary: &Path) -> Result<Manifest, LoadError> {
        let saved = self.saved(id);
        if let Some(Ok(manifest)) = saved {
            return Ok(manifest);
        }
        let found = self.in_binary(id, binary);
        // The saved one is the one that was recorded: its fault says more than that the binary is gone.
        match (saved, found) {
            (Some(Err(reason)), Err(_)) => Err(LoadError::Unusable { id, reason }),
            (_, found) => found,
        }
    }

    /// Takes every module of `binary` over into the store, if it still has the one with this id.
    pub fn keep(&mut self, id: ModuleId, binary: &Path) -> Result<(), LoadError> {
        if self.store.manifest(id).exists() {
            return Ok(());
        }
        let manifest = self.in_binary(id, binary)?;
        save(self.store, &manifest).map_err(|e| LoadError::Unusable {
            id,
            reason: ExtractError::Unreadable(self.store.manifest(id), e.to_string()),
        })
    }

    fn saved(&self, id: ModuleId) -> Option<Result<Manifest, ExtractError>> {
        let path = self.store.manifest(id);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return None,
            Err(e) => return Some(Err(ExtractError::Unreadable(path, e.to_string()))),
        };
        Some(match Manifest::decode_all(&bytes) {
            Ok(manifests) => {
                manifests.into_iter().find(|m| m.id == id.0).ok_or(ExtractError::Bad(path, manifest::FORM.damaged()))
            }
            Err(e) => Err(ExtractError::Bad(path, e)),
        })
    }

    fn in_binary(&mut self, id: ModuleId, binary: &Path) -> Result<Manifest, LoadError> {
        let extracted = self.binaries.entry(binary.into()).or_insert_with(|| {
            let manifests = extract(binary)?;
            Ok(manifests.into_iter().map(|m| (ModuleId(m.id), m)).collect())
        });
        match extracted {
            Ok(manifests) => match manifests.get(&id) {
                Some(manifest) => Ok(manifest.clone()),
                None => {
                    let now = manifests.keys().min().copied().expect("no empty list is extracted");
                    Err(LoadError::Rebuilt { id, now, binary: binary.into() })
                }
            },
            Err(ExtractError::Unreadable(..)) if !binary.exists() => Err(LoadError::Gone { id, binary: binary.into() }),
            Err(reason) => Err(LoadError::Unusable { id, reason: reason.clone() }),
        }
    }
}

#[cfg(test)]
pub mod samples {
    //! Binaries with manifests, as the linker leaves them.

    use object::write::Object;
    use object::{Architecture, BinaryFormat, Endianness, SectionKind};

    /// An ELF file with this section.
    pub fn elf(section: &str, content: &[u8]) -> Vec<u8> {
        let mut elf = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
        let id = elf.add_section(Vec::new(), section.into(), SectionKind::Metadata);
        elf.set_section_data(id, content, 1);
        elf.write().unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_manifest(id: u8) -> Manifest {
        Manifest { id: [id; 16], counters: 3, ..Manifest::default() }
    }

    struct House {
        dir: tempfile::TempDir,
        store: Store,
    }

    impl House {
        fn new() -> House {
            let dir = tempfile::tempdir().unwrap();
            let store = Store::create(&dir.path().join("store")).unwrap();
            House { dir, store }
        }

        fn binary(&self, content: &[u8]) -> PathBuf {
            let path = self.dir.path().join("binary");
            fs::write(&path, content).unwrap();
            path
        }

        fn find(&self, id: u8, binary: &Path) -> Result<Manifest, LoadError> {
            Finder::new(&self.store).find(ModuleId([id; 16]), binary)
        }
    }

    #[test]
    fn several_manifests_of_a_binary_are_found_by_id() {
        let house = House::new();
        let both = [a_manifest(1).encode(), vec![0; 5], a_manifest(2).encode()].concat();
        let binary = house.binary(&samples::elf(sections::MANIFEST, &both));
        assert_eq!(extract(&binary).unwrap().len(), 2);
        assert_eq!(house.find(2, &binary).unwrap(), a_manifest(2));
    }

    #[test]
    fn a_kept_manifest_outlives_its_binary() {
        let house = House::new();
        let binary = house.binary(&samples::elf(sections::MANIFEST, &a_manifest(1).encode()));
        Finder::new(&house.store).keep(ModuleId([1; 16]), &binary).unwrap();
        house.binary(&samples::elf(sections::MANIFEST, &a_manifest(2).encode()));
        assert_eq!(house.find(1, &binary).unwrap(), a_manifest(1));
        fs::remove_file(&binary).unwrap();
        assert_eq!(house.find(1, &binary).unwrap(), a_manifest(1));
    }

    #[test]
    fn what_is_missing_is_said_exactly() {
        let house = House::new();
        let binary = house.binary(&samples::elf(sections::MANIFEST, &a_manifest(2).encode()));
        let said = house.find(1, &binary).unwrap_err().to_string();
        assert!(said.contains("was rebuilt") && said.contains("02020202") && said.contains("01010101"), "{said}");
        house.binary(&samples::elf(".text", b"x"));
        assert!(house.find(1, &binary).unwrap_err().to_string().contains("has no Unseen manifest"));
        house.binary(b"#!/bin/sh\n");
        assert!(house.find(1, &binary).unwrap_err().to_string().contains("is not an ELF"));
        fs::remove_file(&binary).unwrap();
        assert!(house.find(1, &binary).unwrap_err().to_string().contains("is gone"));
    }

    #[test]
    fn damaged_and_newer_manifests_are_refused() {
        let house = House::new();
        let mut bytes = a_manifest(1).encode();
        for cut in 1..bytes.len() {
            let binary = house.binary(&samples::elf(sections::MANIFEST, &bytes[..cut]));
            assert!(matches!(extract(&binary), Err(ExtractError::Bad(..))), "cut {cut}");
        }
        bytes[8] = 9;
        let binary = house.binary(&samples::elf(sections::MANIFEST, &bytes));
        assert!(extract(&binary).unwrap_err().to_string().contains("version 9"));
        fs::write(house.store.manifest(ModuleId([1; 16])), &bytes).unwrap();
        fs::remove_file(&binary).unwrap();
        assert!(house.find(1, &binary).unwrap_err().to_string().contains("version 9"));
    }

    #[test]
    fn a_damaged_saved_manifest_is_replaced_by_that_of_the_binary() {
        let house = House::new();
        let binary = house.binary(&samples::elf(sections::MANIFEST, &a_manifest(1).encode()));
        fs::write(house.store.manifest(ModuleId([1; 16])), "garbage").unwrap();
        assert_eq!(house.find(1, &binary).unwrap(), a_manifest(1));
    }
}
