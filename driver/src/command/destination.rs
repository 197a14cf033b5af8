//! Where a run goes: the arguments of commands that make one.

use std::path::PathBuf;

use super::Failure;
use crate::run::{self, NewRun};
use crate::store::{StoreError, layout, runs};

/// Which store, which run.
#[derive(clap::Args)]
pub struct Destination {
    /// The store [default: UNSEEN_DIR, else .unseen]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Name of the run; a run of that name is added to [default: the time]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

impl Destination {
    /// The name can be that of a run.
    pub fn check(&self) -> Result<(), Failure> {
        match self.name.as_deref().filter(|n| !runs::is_name(n)) {
            Some(name) => Err(Failure::usage(StoreError::Name(name.to_owned()))),
            None => Ok(()),
        }
    }

    /// Others may have written to a run with a name.
    pub fn is_named(&self) -> bool {
        self.name.is_some()
    }

    /// Makes the run, or goes on with it.
    pub fn new_run(&self) -> Result<NewRun, StoreError> {
        run::new_run(&layout::choose(self.dir.as_deref()), self.name.as_deref())
    }
}
