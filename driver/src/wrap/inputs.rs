//! What goes into a link: reads objects and archives and says which hold bitcode and which native code.
//!
//! Reads files, changes none. What can't be read is the linker's to complain about.

use object::read::archive::ArchiveFile;
use object::{Object as _, ObjectSymbol as _};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use unseen_abi::{hooks, sections};

use super::bitcode;

/// The member of a Rust library that is for rustc alone.
const RUST_METADATA: &str = "lib.rmeta";

/// What one file, or one member of an archive, holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Content {
    /// Bitcode the link-time pass will see.
    Bitcode,
    /// Bitcode for thin LTO, which it would never see.
    ThinBitcode,
    /// Native code that was instrumented while it was compiled.
    Unit,
    /// The same, but it needs this, which only the runtime of another version has.
    Outdated(String),
    /// Native code of an object.
    Native,
    /// A library that is used as it is: a shared object, or part of Rust's own.
    Library,
    /// Code for another machine, by name.
    Foreign(String),
    /// Anything else: linker scripts, missing files.
    Unknown,
}

/// One input of a link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Input {
    /// The file, as it was named or found.
    pub path: PathBuf,
    /// The member, if the file is an archive.
    pub member: Option<String>,
    /// What it holds.
    pub content: Content,
}

impl Input {
    /// For people and for the list of inputs: `file` or `archive(member)`.
    pub fn name(&self) -> String {
        match &self.member {
            Some(member) => format!("{}({member})", self.path.display()),
            None => self.path.display().to_string(),
        }
    }
}

/// Everything a file brings into a link: one entry for an object, one per member for an archive.
pub fn read(path: &Path) -> Vec<Input> {
    let one = |content| vec![Input { path: path.to_owned(), member: None, content }];
    let Some(start) = head(path) else { return one(Content::Unknown) };
    if is_rust_std(path) {
        return one(Content::Library);
    }
    if start.starts_with(&object::archive::MAGIC) || start.starts_with(&object::archive::THIN_MAGIC) {
        return archive(path).unwrap_or_else(|| one(Content::Unknown));
    }
    // Shared libraries may be large, and their header says enough.
    if !bitcode::is_bitcode(&start) && elf(&start) != Content::Native {
        return one(elf(&start));
    }
    one(std::fs::read(path).map_or(Content::Unknown, |data| content(&data)))
}

/// Rust's own libraries come ready-made, like the C library: rustc has taken what bitcode they have.
fn is_rust_std(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "rlib") && path.to_string_lossy().contains("/lib/rustlib/")
}

/// The library that `-lNAME` means, if it is in one of the directories named on the command line.
pub fn find_library(name: &OsStr, dirs: &[PathBuf], only_static: bool) -> Option<PathBuf> {
    let name = name.as_bytes();
    let candidates: Vec<Vec<u8>> = match name.strip_prefix(b":") {
        Some(file) => vec![file.to_vec()],
        None => {
            let with = |end: &[u8]| [b"lib", name, end].concat();
            if only_static { vec![with(b".a")] } else { vec![with(b".so"), with(b".a")] }
        }
    };
    dirs.iter().flat_map(|d| candidates.iter().map(|c| d.join(OsStr::from_bytes(c)))).find(|p| p.is_file())
}

/// The first bytes: enough to tell kinds of files apart.
fn head(path: &Path) -> Option<Vec<u8>> {
    // Opening a pipe or a device would block or steal from the linker.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut start = Vec::with_capacity(64);
    File::open(path).ok()?.take(64).read_to_end(&mut start).ok()?;
    Some(start)
}

fn archive(path: &Path) -> Option<Vec<Input>> {
    let data = std::fs::read(path).ok()?;
    let archive = ArchiveFile::parse(&*data).ok()?;
    let mut out = Vec::new();
    for member in archive.members() {
        let member = member.ok()?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        if name == RUST_METADATA {
            continue;
        }
        let content = if member.is_thin() {
            let beside = path.parent().unwrap_or(Path::new("")).join(OsStr::from_bytes(member.name()));
            std::fs::read(beside).map_or(Content::Unknown, |d| content(&d))
        } else {
            content(member.data(&*data).ok()?)
        };
        out.push(Input { path: path.to_owned(), member: Some(name), content });
    }
    Some(out)
}

/// What a whole object file holds.
pub fn content(data: &[u8]) -> Content {
    if !bitcode::is_bitcode(data) {
        return match elf(data) {
            Content::Native => native(data),
            other => other,
        };
    }
    match bitcode::read(data) {
        Some(facts) if facts.thin => Content::ThinBitcode,
        Some(facts) if !facts.triple.is_empty() && !facts.triple.starts_with("x86_64") => {
            Content::Foreign(facts.triple)
        }
        _ => Content::Bitcode,
    }
}

/// What native code of an object is.
fn native(data: &[u8]) -> Content {
    let Ok(file) = object::File::parse(data) else { return Content::Native };
    if file.section_by_name(sections::MANIFEST).is_none() {
        return Content::Native;
    }
    let needed = file.symbols().filter(|s| s.is_undefined()).filter_map(|s| s.name().ok());
    let is_hook =
        |name: &str| [hooks::BASIC, hooks::ACCESS, hooks::STATE].into_iter().flatten().any(|h| h.symbol == name);
    let mut unknown = needed.filter(|name| name.starts_with(sections::SYMBOL_PREFIX) && !is_hook(name));
    unknown.next().map_or(Content::Unit, |name| Content::Outdated(name.to_owned()))
}

/// What an ELF file holds, by its header.
fn elf(data: &[u8]) -> Content {
    let half = |at: usize| data.get(at..at + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]));
    if !data.starts_with(&object::elf::ELFMAG) {
        return Content::Unknown;
    }
    let (kind, machine) = (half(16), half(18));
    if machine != object::elf::EM_X86_64 || data.get(4) != Some(&object::elf::ELFCLASS64) {
        return Content::Foreign(machine_name(machine, data.get(4).copied()));
    }
    match kind {
        object::elf::ET_REL => Content::Native,
        object::elf::ET_DYN => Content::Library,
        _ => Content::Unknown,
    }
}

fn machine_name(machine: u16, class: Option<u8>) -> String {
    match machine {
        object::elf::EM_386 => "i386".into(),
        object::elf::EM_AARCH64 => "aarch64".into(),
        object::elf::EM_ARM => "arm".into(),
        object::elf::EM_RISCV => "riscv".into(),
        object::elf::EM_X86_64 => format!("x86-64 (ELF class {})", class.unwrap_or(0)),
        other => format!("ELF machine {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_an_object_is_unknown() {
        assert_eq!(content(b"GROUP ( libc.so.6 )"), Content::Unknown);
        assert_eq!(content(b""), Content::Unknown);
        assert_eq!(read(Path::new("/dev/null"))[0].content, Content::Unknown);
        assert_eq!(read(Path::new("/no/such/file"))[0].content, Content::Unknown);
    }

    #[test]
    fn libraries_are_found_as_the_linker_finds_them() {
        let dir = tempfile::tempdir().unwrap();
        let dirs = [PathBuf::from("/nonexistent"), dir.path().to_owned()];
        std::fs::write(dir.path().join("libx.a"), "").unwrap();
        let find = |name: &str, only_static| find_library(OsStr::new(name), &dirs, only_static);
        assert_eq!(find("x", false), Some(dir.path().join("libx.a")));
        std::fs::write(dir.path().join("libx.so"), "").unwrap();
        assert_eq!(find("x", false), Some(dir.path().join("libx.so")));
        assert_eq!(find("x", true), Some(dir.path().join("libx.a")));
        assert_eq!(find(":libx.a", false), Some(dir.path().join("libx.a")));
        assert_eq!(find("y", false), None);
    }
}
