//! `unseen-ar`, `unseen-ranlib`, `unseen-nm`, `unseen-strip`: LLVM's tools, which know bitcode.
//!
//! The first three only change names. GNU's `ar` keeps bitcode without an index and lld does not mind, but GNU's `nm`
//! and `ranlib` see no symbols in it unless a plugin happens to be installed. No tool can strip bitcode: such files are
//! left as they are, with a word to standard error, because the code they become is not there yet.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use unseen_abi::sections;

use super::inputs::{self, Content};
use crate::command::Failure;
use crate::config;
use crate::context::{LLVM_ADVICE, Llvm};

/// Plays one of the tools.
pub fn main(role: &str) -> ExitCode {
    run(role).unwrap_or_else(|failure| failure.print_as(role))
}

fn run(role: &str) -> Result<ExitCode, Failure> {
    let llvm = Llvm::find(&config::environment())?;
    let mut words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let name = role.trim_start_matches("unseen-").trim_start_matches("llvm-");
    if name == "strip" {
        let bitcode = bitcode_files(&words);
        for path in &bitcode {
            eprintln!(
                "{role}: {}: bitcode can't be stripped; left as it is (strip what is linked from it)",
                path.display()
            );
        }
        if !bitcode.is_empty() {
            copy_output(&words, &bitcode)?;
            words.retain(|w| !bitcode.iter().any(|b| b.as_os_str() == w));
            if files(&words).is_empty() {
                return Ok(ExitCode::SUCCESS);
            }
        }
        // LLVM's strip would take what is not loaded; GNU's leaves it.
        words.splice(0..0, sections::ALL.iter().map(|name| format!("--keep-section={name}").into()));
    }
    let tool = llvm.tool(&format!("llvm-{name}"));
    let error = Command::new(&tool).args(&words).exec();
    Err(Failure::environment(format!("can't run {}: {error}", tool.display())).next(LLVM_ADVICE))
}

/// Arguments of strip that take their value from the next word.
const STRIP_VALUES: &[&str] = &[
    "-o",
    "-F",
    "-I",
    "-O",
    "-K",
    "-N",
    "-R",
    "--output-file",
    "--keep-symbol",
    "--strip-symbol",
    "--remove-section",
    "--keep-section",
    "--target",
    "--input-target",
    "--output-target",
];

/// The files on strip's command line.
fn files(words: &[OsString]) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if STRIP_VALUES.iter().any(|v| word == v) {
            words.next();
        } else if !word.as_bytes().starts_with(b"-") {
            out.push(PathBuf::from(word));
        }
    }
    out
}

/// Those that hold bitcode, alone or in an archive.
fn bitcode_files(words: &[OsString]) -> Vec<PathBuf> {
    let is_bitcode = |c: &Content| matches!(c, Content::Bitcode | Content::ThinBitcode);
    files(words).into_iter().filter(|f| inputs::read(f).iter().any(|i| is_bitcode(&i.content))).collect()
}

/// With `-o` the unstripped file is what there is to put there.
fn copy_output(words: &[OsString], bitcode: &[PathBuf]) -> Result<(), Failure> {
    let at = words.iter().position(|w| w == "-o" || w == "--output-file");
    if let (Some(output), [file]) = (at.and_then(|i| words.get(i + 1)), bitcode) {
        copy(file, output)?;
    }
    Ok(())
}

fn copy(from: &Path, to: &OsStr) -> Result<(), Failure> {
    std::fs::copy(from, to)
        .map(|_| ())
        .map_err(|e| Failure::environment(format!("can't copy {} to {}: {e}", from.display(), Path::new(to).display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_not_files() {
        let words = ["-g", "-R", ".comment", "a.o", "-o", "b.o", "--strip-unneeded", "c.a"].map(OsString::from);
        assert_eq!(files(&words), [PathBuf::from("a.o"), PathBuf::from("c.a")]);
    }
}
