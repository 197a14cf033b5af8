//! Launching programs with a store.
//!
//! [`new_run`] makes a run and the environment in which programs write to it; [`program`] starts one program in it;
//! [`record`] looks at what it left. A store that can't be written never stops a program.

pub mod program;
pub mod record;

use std::ffi::OsString;
use std::path::Path;

use unseen_abi::options;

use crate::store::layout::{Store, StoreError};
use crate::store::runs::{self, Run};

/// A run that programs may write to.
#[derive(Debug)]
pub struct NewRun {
    pub store: Store,
    pub run: Run,
}

impl NewRun {
    /// What to set for programs of this run: `UNSEEN_DIR` and `UNSEEN_RUN`.
    pub fn environment(&self) -> [(&'static str, OsString); 2] {
        [(options::DIR.name, self.store.root().into()), (options::RUN.name, self.run.name.clone())]
    }

    /// Undoes what [`new_run`] did, if nothing was recorded.
    pub fn forget_if_empty(&self) {
        // Fails if there is anything in it: just what is wanted.
        let _ = std::fs::remove_dir(&self.run.directory);
    }
}

/// Makes a new run in the store at `directory`, or goes on with the one of that name. The store is made if it isn't
/// there.
pub fn new_run(directory: &Path, name: Option<&str>) -> Result<NewRun, StoreError> {
    let store = Store::create(directory)?;
    let run = match name {
        Some(name) => runs::create_named(&store, name)?,
        None => runs::create(&store)?,
    };
    Ok(NewRun { store, run })
}
