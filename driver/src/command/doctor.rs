//! `unseen doctor`.

use super::Outcome;

/// Arguments of `unseen doctor`.
#[derive(clap::Args)]
pub struct Args {}

/// Runs the command.
pub fn run(_args: Args) -> Outcome {
    Err(super::Failure::environment("not there yet"))
}
