//! Launching programs with a store.
//!
//! In order: [`new_run`] makes a run; its [`NewRun::environment`] is what programs need to write to it;
//! [`NewRun::started`]; [`program`] runs one, and [`live`] tells how it goes; [`NewRun::ended`]; [`record`] looks at what was left. A store that can't
//! be written never stops a program.

pub mod live;
pub mod program;
pub mod record;

use std::ffi::OsString;
use std::io;
use std::path::Path;

use unseen_abi::event::Kind;
use unseen_abi::options;

use crate::store::events;
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

    /// Writes down that this command is started in the run.
    pub fn started(&self, command: &[OsString]) -> io::Result<()> {
        let mut fields = vec![std::env::current_dir().unwrap_or_default().into_os_string()];
        fields.extend_from_slice(command);
        events::append(&self.run.directory, Kind::RunStart, &fields)
    }

    /// Writes down how it ended.
    pub fn ended(&self, ending: &str) -> io::Result<()> {
        events::append(&self.run.directory, Kind::RunEnd, &[ending])
    }

    /// Undoes what [`new_run`], [`NewRun::started`] and [`NewRun::ended`] did, unless something was recorded.
    pub fn forget(&self) {
        let only_the_log = std::fs::read_dir(&self.run.directory)
            .is_ok_and(|mut entries| entries.all(|e| e.is_ok_and(|e| e.file_name() == unseen_abi::event::FILE)));
        if only_the_log {
            // What can't be removed stays: an empty run harms nobody.
            let _ = std::fs::remove_file(self.run.directory.join(unseen_abi::event::FILE));
            let _ = std::fs::remove_dir(&self.run.directory);
        }
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
