//! The linker's own account of the files it read. Libraries are found, and scripts name files, in more ways than the survey before
//! the link knows; what it missed must not stay unnoticed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::args::{Args, Meaning};
use super::clang::{self, Surroundings, joined};
use super::launch::Plan;
use super::link;
use super::step::{self, Step};
use crate::command::Failure;

/// lld's option, which is also what build systems ask it for.
const OPTION: &str = "--dependency-file";

/// Asks for the account, if lld links. Gives where it will be.
pub fn ask(plan: &mut Plan, args: &Args, step: &Step, around: &Surroundings, scratch: &Path) -> Option<PathBuf> {
    let demanded = args.last(Meaning::LdPath).or_else(|| args.last(Meaning::UseLd));
    let lld = plan.args.contains(&link::ld_path(&around.llvm))
        || (step.linker.is_none() && demanded.is_some_and(|linker| !linker.is_empty()));
    if !lld || clang::is_plain(step, &around.request) {
        return None;
    }
    let file = scratch.join("read");
    plan.add([OsString::from("-Xlinker"), joined(&format!("{OPTION}="), &file)]);
    Some(file)
}

/// The files that were read, but for those in the scratch directory. The linker writes one account only: whoever else wants it gets
/// it from here.
pub fn read(file: &Path, args: &Args, scratch: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |path: &Path, e: &std::io::Error| Failure::environment(format!("{}: {e}", path.display()));
    let text = match std::fs::read(file) {
        Ok(text) => text,
        // It was asked for its version, or the like.
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(failed(file, &e)),
    };
    let lines: Vec<&[u8]> = text.split(|b| *b == b'\n').collect();
    if let Some(theirs) = wanted(args) {
        // What we remove would be missing when a build system looks at it, and everything be linked again.
        let ours = scratch.as_os_str().as_bytes();
        let stays = |line: &&&[u8]| !line.windows(ours.len()).any(|w| w == ours);
        let kept: Vec<&[u8]> = lines.iter().filter(stays).copied().collect();
        std::fs::write(&theirs, kept.join(&b'\n')).map_err(|e| failed(&theirs, &e))?;
    }
    let named = lines.iter().filter_map(|l| l.strip_prefix(b" ")).map(|l| l.strip_suffix(b" \\").unwrap_or(l));
    Ok(named.map(unescaped).filter(|path| !path.starts_with(scratch)).collect())
}

/// Where the command itself wants the account.
fn wanted(args: &Args) -> Option<PathBuf> {
    let words = step::linker_words(args);
    let rest = |word: &OsString| word.as_bytes().strip_prefix(OPTION.as_bytes()).map(<[u8]>::to_vec);
    words.iter().enumerate().rev().find_map(|(at, word)| match &rest(word)?[..] {
        [] => words.get(at + 1).map(PathBuf::from),
        [b'=', path @ ..] => Some(PathBuf::from(OsStr::from_bytes(path))),
        _ => None,
    })
}

/// A path without `./` before it, as it is in the account.
pub fn undotted(path: &Path) -> &Path {
    path.strip_prefix(".").unwrap_or(path)
}

/// A path as make would read it: `\ ` is a space, with twice the backslashes there were before it; `\#` is `#`, `$$` is `$`.
fn unescaped(text: &[u8]) -> PathBuf {
    let mut out = Vec::with_capacity(text.len());
    let (mut slashes, mut dollar) = (0, false);
    for byte in text {
        match byte {
            b'\\' => {
                slashes += 1;
                continue;
            }
            b' ' => slashes /= 2,
            b'#' => slashes -= slashes.min(1),
            _ => {}
        }
        out.resize(out.len() + std::mem::take(&mut slashes), b'\\');
        dollar = *byte == b'$' && !dollar;
        if !dollar {
            out.push(*byte);
        }
    }
    out.resize(out.len() + slashes, b'\\');
    PathBuf::from(OsStr::from_bytes(&out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_what_they_were_before_lld_wrote_them() {
        for (written, path) in [
            (r"a.o", "a.o"),
            (r"l\ i\#$$x/libour.a", "l i#$x/libour.a"),
            (r"a\\\ b", r"a\ b"),
            (r"a\b\", r"a\b\"),
            (r"$$$$", "$$"),
        ] {
            assert_eq!(unescaped(written.as_bytes()), Path::new(path));
        }
    }

    #[test]
    fn an_account_that_the_command_wants() {
        let wants = |line: &str| wanted(&Args::parse(line.split_whitespace().map(OsString::from).collect()));
        assert_eq!(wants("a.o -Wl,--dependency-file=x,--dependency-file=d"), Some("d".into()));
        assert_eq!(wants("a.o -Wl,--dependency-file,d -Xlinker --gc-sections"), Some("d".into()));
        assert_eq!(wants("a.o"), None);
    }
}
