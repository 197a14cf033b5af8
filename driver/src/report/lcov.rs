//! The tracefile of lcov. Counts are processes, as everywhere: a line with 3 was reached by three of them.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use crate::study::cover::{Coverage, File};

/// Writes one record per file.
pub fn write(coverage: &Coverage, out: &mut dyn Write) -> io::Result<()> {
    coverage.files.iter().try_for_each(|file| record(file, out))
}

fn record(file: &File, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "TN:\nSF:{}", one_line(&file.path))?;
    functions(file, out)?;
    branches(file, out)?;
    for line in &file.lines {
        writeln!(out, "DA:{},{}", line.number, line.hits)?;
    }
    writeln!(out, "LF:{}\nLH:{}\nend_of_record", file.totals.lines.total, file.totals.lines.covered)
}

fn functions(file: &File, out: &mut dyn Write) -> io::Result<()> {
    // Readers know functions by name: two of one name in a file must not become one.
    let mut taken = HashSet::new();
    let mut names = Vec::new();
    for f in &file.functions {
        let name = one_line(&f.name);
        let name = if taken.contains(&name) { format!("{name}:{}:{}", f.line, f.column) } else { name };
        taken.insert(name.clone());
        names.push(name);
    }
    for (f, name) in file.functions.iter().zip(&names) {
        writeln!(out, "FN:{},{name}", f.line)?;
    }
    for (f, name) in file.functions.iter().zip(&names) {
        writeln!(out, "FNDA:{},{name}", f.hits)?;
    }
    writeln!(out, "FNF:{}\nFNH:{}", file.totals.functions.total, file.totals.functions.covered)
}

fn branches(file: &File, out: &mut dyn Write) -> io::Result<()> {
    let mut blocks: HashMap<u32, u32> = HashMap::new();
    for branch in &file.branches {
        let block = blocks.entry(branch.line).or_default();
        // A decision that was never met has `-`: not the same as an arm that was never chosen.
        let met = branch.arms.iter().any(|a| a.hits > 0);
        for (number, arm) in branch.arms.iter().filter(|a| a.reachable).enumerate() {
            let taken = if met { arm.hits.to_string() } else { "-".into() };
            writeln!(out, "BRDA:{},{block},{number},{taken}", branch.line)?;
        }
        *block += 1;
    }
    writeln!(out, "BRF:{}\nBRH:{}", file.totals.branches.total, file.totals.branches.covered)
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}
