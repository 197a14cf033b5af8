//! What is wrong with one file of a store. A problem costs that file and nothing else.

use std::io;
use std::path::PathBuf;

use super::ModuleId;

/// A file and its fault; prints both.
#[derive(Debug, thiserror::Error)]
#[error("{}: {fault}", file.display())]
pub struct Problem {
    pub file: PathBuf,
    pub fault: Fault,
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    #[error("is not a regular file")]
    NotAFile,
    #[error("was never finished: its process died or the disk was full while it was made")]
    NeverFinished,
    #[error("is not a counter file")]
    Foreign,
    #[error("has version {0}, this build of Unseen reads up to {version}; use the newer Unseen that wrote it, or remove it", version = unseen_abi::counters::VERSION)]
    Newer(u32),
    #[error("is not a pack of counter files")]
    ForeignPack,
    #[error("is a pack of version {0}, this build of Unseen reads up to {version}; use the newer Unseen that wrote it, or remove it", version = super::pack::VERSION)]
    NewerPack(u32),
    #[error("is cut short: it has {have} of {want} bytes")]
    Truncated { have: u64, want: u64 },
    #[error("is damaged: {0}")]
    Damaged(&'static str),
    #[error("holds counters of module {id}, not of the one its name says")]
    WrongModule { id: ModuleId },
    #[error("has {file} counters, but the manifest of module {id} has {manifest}")]
    WrongCount { id: ModuleId, file: u64, manifest: u64 },
    #[error("{0}")]
    NoManifest(#[from] super::manifests::LoadError),
    #[error("has event records of version {0}, this build of Unseen reads up to {version}; read up to there",
        version = unseen_abi::event::VERSION)]
    NewerEvents(u16),
    #[error("{0} bytes of torn event records skipped")]
    TornEvents(usize),
}
