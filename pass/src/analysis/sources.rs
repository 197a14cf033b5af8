//! Source files and places, interned: debug info names the same file in thousands of nodes.

use crate::llvm::{File, Inst};
use rustc_hash::FxHashMap as HashMap;
use unseen_abi::manifest::Place;

/// The files met so far.
#[derive(Default)]
pub struct Sources {
    paths: Vec<String>,
    by_path: HashMap<String, u32>,
    by_node: HashMap<File, u32>,
}

impl Sources {
    /// Goes on where a list ended.
    pub fn after(paths: Vec<String>) -> Sources {
        let by_path = paths.iter().enumerate().map(|(i, p)| (p.clone(), i as u32)).collect();
        Sources { paths, by_path, by_node: HashMap::default() }
    }

    /// The number of a file.
    pub fn file(&mut self, file: File) -> u32 {
        if let Some(number) = self.by_node.get(&file) {
            return *number;
        }
        let path = file.path();
        let next = self.paths.len() as u32;
        let number = *self.by_path.entry(path.clone()).or_insert(next);
        if number == next {
            self.paths.push(path);
        }
        self.by_node.insert(file, number);
        number
    }

    /// Its path.
    pub fn path(&self, number: u32) -> &str {
        &self.paths[number as usize]
    }

    /// Where an instruction comes from, if from a line.
    pub fn place(&mut self, inst: Inst) -> Option<Place> {
        let location = inst.location()?;
        let line = location.line();
        if line == 0 {
            return None;
        }
        Some(Place { file: self.file(location.file()?), line, column: location.column() })
    }

    /// All paths, by number.
    pub fn into_files(self) -> Vec<String> {
        self.paths
    }
}
