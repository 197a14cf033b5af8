//! `unseen install`: copies the tools, the plugin, the runtime, the header and the CMake toolchain file to a prefix, from
//! which they work.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::{Failure, Outcome};
use crate::context::Own;
use crate::role;

/// Arguments of `unseen install`.
#[derive(clap::Args)]
pub struct Args {
    /// Where to: DIR/bin, DIR/lib/unseen, DIR/include, DIR/share/unseen
    #[arg(long, value_name = "DIR")]
    prefix: PathBuf,
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let own = Own::find()?;
    own.check()?;
    let prefix = std::path::absolute(&args.prefix).map_err(|e| Failure::usage(format!("--prefix: {e}")))?;
    for (from, to, mode) in [
        (own.tool("unseen"), "bin/unseen", 0o755),
        (own.plugin, "lib/unseen/libunseen_pass.so", 0o755),
        (own.runtime, "lib/unseen/libunseen_rt.a", 0o644),
        (own.malloc, "lib/unseen/libunseen_malloc.so", 0o755),
        (own.header, "include/unseen.h", 0o644),
        (own.cmake, "share/unseen/unseen.cmake", 0o644),
    ] {
        copy(&from, &prefix.join(to), mode)?;
    }
    for role in role::names() {
        link(&prefix.join("bin").join(role))?;
    }
    println!("installed in {}; add {} to the PATH", prefix.display(), prefix.join("bin").display());
    Ok(ExitCode::SUCCESS)
}

/// The file appears whole or not at all: an older one may be running.
fn copy(from: &Path, to: &Path, mode: u32) -> Result<(), Failure> {
    let fail = |e: std::io::Error| {
        Failure::environment(format!("can't copy {} to {}: {e}", from.display(), to.display()))
            .next("run scripts/build if the first is missing; choose a prefix that can be written if it is the second")
    };
    let dir = to.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(dir).map_err(fail)?;
    let mut new = tempfile::NamedTempFile::new_in(dir).map_err(fail)?;
    std::io::copy(&mut std::fs::File::open(from).map_err(fail)?, &mut new).map_err(fail)?;
    new.as_file().set_permissions(std::fs::Permissions::from_mode(mode)).map_err(fail)?;
    new.persist(to).map_err(|e| fail(e.error))?;
    Ok(())
}

/// A role is a name of `unseen`.
fn link(path: &Path) -> Result<(), Failure> {
    let fail = |e: std::io::Error| Failure::environment(format!("can't make {}: {e}", path.display()));
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(fail(e)),
        _ => {}
    }
    std::os::unix::fs::symlink("unseen", path).map_err(fail)
}
