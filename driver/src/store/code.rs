//! Which functions and lines the addresses of a binary are, by its debug info and its symbols.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use addr2line::Loader;
use object::read::{Object, ObjectSymbol, ReadCache};
use object::{SymbolKind, read};

/// A function that an address belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spot {
    /// The linker's name; empty if nobody knows it.
    pub symbol: String,
    pub file: Option<String>,
    pub line: Option<u32>,
}

/// Binaries that were looked at. What is gone, or is none, knows nothing.
#[derive(Default)]
pub struct Code {
    files: HashMap<PathBuf, Binary>,
}

/// What is known of a binary.
struct Binary {
    lines: Option<Loader>,
    functions: Vec<Function>,
}

/// A function of the symbol table, or of what a stripped binary exports.
struct Function {
    address: u64,
    size: u64,
    name: String,
}

impl Code {
    /// The functions at an address, as the linker knows it: first those that were inlined there, last the one that has it. Empty if
    /// nobody knows it.
    pub fn at(&mut self, file: &Path, address: u64) -> Vec<Spot> {
        let read = || Binary { lines: Loader::new(file).ok(), functions: functions(file).unwrap_or_default() };
        let binary = self.files.entry(file.into()).or_insert_with(read);
        let symbol = binary.function(address).unwrap_or_default().to_owned();
        let mut spots = Vec::new();
        if let Some(Ok(mut frames)) = binary.lines.as_ref().map(|lines| lines.find_frames(address)) {
            while let Ok(Some(frame)) = frames.next() {
                let name = frame.function.as_ref().and_then(|f| f.raw_name().ok()).unwrap_or_default().into_owned();
                let place = frame.location;
                let file = place.as_ref().and_then(|l| l.file).map(str::to_owned);
                // A line of 0 is code that no line has asked for.
                let line = place.and_then(|l| l.line).filter(|line| *line > 0);
                spots.push(Spot { symbol: name, file, line });
            }
        }
        match spots.last_mut() {
            Some(last) if last.symbol.is_empty() => last.symbol = symbol,
            None if !symbol.is_empty() => spots.push(Spot { symbol, ..Spot::default() }),
            _ => {}
        }
        spots
    }
}

impl Binary {
    /// The name of the function that has an address. What lies behind the last function that is exported need not be a part of it.
    fn function(&self, address: u64) -> Option<&str> {
        let next = self.functions.partition_point(|f| f.address <= address);
        let candidates = self.functions[..next].iter().rev().take_while(|f| f.address + f.size > address);
        candidates.map(|f| f.name.as_str()).next()
    }
}

/// The functions of a binary, by address.
fn functions(file: &Path) -> Option<Vec<Function>> {
    let cache = ReadCache::new(fs::File::open(file).ok()?);
    let parsed = read::File::parse(&cache).ok()?;
    let all = parsed.symbols().chain(parsed.dynamic_symbols());
    let own = all.filter(|s| s.kind() == SymbolKind::Text && s.is_definition() && s.size() > 0);
    let mut functions: Vec<Function> = own
        .filter_map(|s| Some(Function { address: s.address(), size: s.size(), name: s.name().ok()?.into() }))
        .collect();
    functions.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
    Some(functions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_binary_knows_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let text = dir.path().join("text");
        std::fs::write(&text, "no binary").unwrap();
        for file in [text, dir.path().join("gone"), dir.path().into()] {
            assert_eq!(Code::default().at(&file, 0x1000), []);
        }
    }

    #[test]
    fn this_test_has_a_name_and_a_line() {
        let exe = std::env::current_exe().unwrap();
        let data = std::fs::read(&exe).unwrap();
        let parsed = object::File::parse(&*data).unwrap();
        let wanted = "this_test_has_a_name_and_a_line";
        let is_it = |s: &object::Symbol| s.name().is_ok_and(|n| n.contains(wanted) && !n.contains("closure"));
        let symbol = parsed.symbols().find(is_it).unwrap();
        let spots = Code::default().at(&exe, symbol.address());
        let last = spots.last().unwrap();
        assert!(last.symbol.contains(wanted), "{spots:?}");
        assert!(last.line.is_some() && last.file.as_ref().unwrap().ends_with("store/code.rs"), "{spots:?}");
    }
}
