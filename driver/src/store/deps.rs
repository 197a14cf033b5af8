//! The dependency sets that a binary carries, each with the manifest it belongs to.

use std::path::{Path, PathBuf};

use unseen_abi::deps::{self, Deps};
use unseen_abi::manifest::Manifest;
use unseen_abi::sections;

use super::manifests::{self, ExtractError};

/// Why a binary gives no sets.
#[derive(Debug, thiserror::Error)]
pub enum DepsError {
    #[error(transparent)]
    Manifest(#[from] ExtractError),
    #[error("{} carries no dependency sets: it was built without the mechanisms `state` and `access`", .0.display())]
    None(PathBuf),
}

/// The modules of a binary that have sets.
pub fn read(binary: &Path) -> Result<Vec<(Manifest, Deps)>, DepsError> {
    let mut manifests = manifests::extract(binary)?;
    let bytes = match manifests::section(binary, sections::DEPS) {
        Err(ExtractError::None(path)) => return Err(DepsError::None(path)),
        other => other?,
    };
    let bad = |e| ExtractError::Bad(binary.into(), e);
    let sets = Deps::decode_all(&bytes).map_err(bad)?;
    let damaged = || bad(deps::FORM.damaged());
    let mut modules = Vec::new();
    for deps in sets {
        let place = manifests.iter().position(|m| m.id == deps.id).ok_or_else(damaged)?;
        let manifest = manifests.swap_remove(place);
        if deps.functions.iter().any(|f| f.function as usize >= manifest.functions.len()) {
            return Err(damaged().into());
        }
        modules.push((manifest, deps));
    }
    if modules.is_empty() { Err(DepsError::None(binary.into())) } else { Ok(modules) }
}
