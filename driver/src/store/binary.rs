//! What a linked binary carries: manifests, the list of what was linked, declined steps, and its symbol table.

use std::fs;
use std::path::{Path, PathBuf};

use object::read::archive::ArchiveFile;
use object::read::elf::{ElfFile64, FileHeader};
use object::read::{Object, ObjectSection, ObjectSymbol, ReadCache, ReadRef, SectionIndex};
use object::{Endianness, SectionFlags, SymbolFlags, SymbolKind, elf};
use unseen_abi::manifest::{self, Manifest};
use unseen_abi::sections;

use super::manifests::ExtractError;

/// Everything Unseen and the linker left in a binary.
#[derive(Debug, Default)]
pub struct Binary {
    /// None if nothing came as bitcode.
    pub manifests: Vec<Manifest>,
    /// Functions of the symbol table, in its order.
    pub symbols: Vec<Symbol>,
    /// The symbol table was removed; `symbols` holds at most what the binary exports.
    pub stripped: bool,
    /// What went into the link: kind and path, or flag.
    pub inputs: Vec<(String, String)>,
    /// Declined compile steps, `source: reason`.
    pub declined: Vec<String>,
}

/// A function in the symbol table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    pub address: u64,
    /// The source or object the linker names for a local symbol.
    pub file: Option<String>,
    pub local: bool,
}

/// Reads a binary; only the parts that are needed.
pub fn read(path: &Path) -> Result<Binary, ExtractError> {
    let unreadable = |e: std::io::Error| ExtractError::Unreadable(path.into(), e.to_string());
    let not_elf = || ExtractError::NotElf(path.into());
    let file = fs::File::open(path).map_err(unreadable)?;
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(not_elf());
    }
    let cache = ReadCache::new(file);
    let elf = ElfFile64::<Endianness, _>::parse(&cache).map_err(|_| not_elf())?;
    let bad = |e| ExtractError::Bad(path.into(), e);
    let section = |name| match elf.section_by_name(name) {
        Some(section) => section.data().map(Some).map_err(|_| bad(manifest::FORM.damaged())),
        None => Ok(None),
    };
    let linked = section(sections::INPUTS)?;
    let manifests = Manifest::decode_all(section(sections::MANIFEST)?.unwrap_or_default()).map_err(bad)?;
    // We link programs too for which there is nothing to instrument.
    if manifests.is_empty() && linked.is_none() {
        return Err(ExtractError::None(path.into()));
    }
    let mut inputs = Vec::new();
    for line in lines(linked) {
        let (kind, rest) = line.split_once(' ').unwrap_or((&line, ""));
        inputs.push((kind.to_owned(), rest.to_owned()));
    }
    let declined = lines(section(sections::DECLINED)?);
    let stripped = elf.symbols().next().is_none();
    Ok(Binary { manifests, symbols: functions(&elf, stripped), stripped, inputs, declined })
}

/// Text lines, ended by newline or NUL.
fn lines(section: Option<&[u8]>) -> Vec<String> {
    let lines = section.unwrap_or_default().split(|b| matches!(b, 0 | b'\n'));
    lines.map(|l| String::from_utf8_lossy(l).trim().to_owned()).filter(|l| !l.is_empty()).collect()
}

fn functions<'d, R: ReadRef<'d>>(
    elf: &object::read::elf::ElfFile<'d, impl FileHeader<Endian = Endianness>, R>,
    stripped: bool,
) -> Vec<Symbol> {
    let mut out = Vec::new();
    let mut current = None;
    let in_code = |section: Option<SectionIndex>, address: u64| {
        let Some(section) = section.and_then(|i| elf.section_by_index(i).ok()) else { return false };
        let SectionFlags::Elf { sh_flags } = section.flags() else { return false };
        sh_flags & u64::from(elf::SHF_EXECINSTR) != 0 && address < section.address() + section.size()
    };
    let mut take = |symbol: object::read::elf::ElfSymbol<'d, '_, _, R>| {
        let name = symbol.name().unwrap_or_default();
        if symbol.kind() == SymbolKind::File {
            current = Some(name.to_owned()).filter(|n| !n.is_empty());
            return;
        }
        let SymbolFlags::Elf { st_info, .. } = symbol.flags() else { return };
        let function = match st_info & 0xf {
            elf::STT_FUNC | elf::STT_GNU_IFUNC => symbol.is_definition() || symbol.section_index().is_some(),
            // Assembly often gives no type; its local labels are not functions.
            elf::STT_NOTYPE => symbol.is_global(),
            _ => false,
        };
        if function && !name.is_empty() && in_code(symbol.section_index(), symbol.address()) {
            let local = symbol.is_local();
            let file = current.clone().filter(|_| local);
            out.push(Symbol { name: name.to_owned(), address: symbol.address(), file, local });
        }
    };
    if stripped {
        elf.dynamic_symbols().for_each(&mut take)
    } else {
        elf.symbols().for_each(&mut take)
    }
    out
}

/// The functions that a native object, or each member of an archive, defines for others: name and where it is.
/// What can't be read has none: this only serves to name origins.
pub fn definitions(path: &Path) -> Vec<(String, PathBuf)> {
    let Ok(file) = fs::File::open(path) else { return Vec::new() };
    let cache = ReadCache::new(file);
    if let Ok(archive) = ArchiveFile::parse(&cache) {
        let members = archive.members().filter_map(Result::ok);
        return members
            .flat_map(|member| {
                let name = String::from_utf8_lossy(member.name()).into_owned();
                let origin = PathBuf::from(format!("{}({name})", path.display()));
                member.data(&cache).map(|data| defined(data, &origin)).unwrap_or_default()
            })
            .collect();
    }
    let all = cache.len().and_then(|len| cache.read_bytes_at(0, len));
    all.map(|data| defined(data, path)).unwrap_or_default()
}

fn defined(data: &[u8], origin: &Path) -> Vec<(String, PathBuf)> {
    let Ok(object) = object::File::parse(data) else { return Vec::new() };
    let global = object.symbols().filter(|s| s.is_global() && s.section_index().is_some());
    global.filter_map(|s| Some((s.name().ok()?.to_owned(), origin.to_owned()))).collect()
}
