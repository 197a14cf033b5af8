//! Seen sets, as text and as json (docs/seen-json.md).

use std::io::{self, Write};

use super::text::tenths;
use super::{document, many};
use crate::study::seen::{Findings, Set};

/// Version of the json document.
const VERSION: u32 = 1;

/// Writes the json document on one line.
pub fn json(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    document::write("unseen-seen", VERSION, findings, out)
}

/// Writes for each set a line, its files, its tests, and what is special.
pub fn text(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    for (i, set) in findings.sets.iter().enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        describe(set, out)?;
    }
    Ok(())
}

fn describe(set: &Set, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "build {} in {}: {}, {} bytes, {} a state",
        set.build,
        set.place,
        many(set.states as usize, "state"),
        set.bytes,
        format_args!("{:.1}", set.bytes_per_state)
    )?;
    if !set.tables.is_empty() {
        let rows = set.tables.iter().map(|t| {
            let full = format!("{} %", tenths(t.full));
            [t.width.into(), t.states.to_string(), t.bytes.to_string(), t.lines.to_string(), full]
        });
        columns(1, ["Width", "States", "Bytes", "Lines", "Full"], rows.collect(), out)?;
    }
    if !set.tests.is_empty() {
        let rows = set.tests.iter().map(|t| {
            let test = t.test.clone().unwrap_or_else(|| format!("test {}", t.number));
            [test, t.unit.clone().unwrap_or_else(|| "?".into()), t.states.to_string()]
        });
        columns(2, ["Test", "Unit", "States"], rows.collect(), out)?;
    }
    let they = |n: u64, one: &'static str, more: &'static str| if n == 1 { one } else { more };
    if set.spilled > 0 {
        let (n, are) = (many(set.spilled as usize, "narrow state"), they(set.spilled, "is", "are"));
        writeln!(out, "  {n} {are} among the wide: there was no place among the narrow")?;
    }
    if set.waiting > 0 {
        let (n, wait) = (many(set.waiting as usize, "imported state"), they(set.waiting, "waits", "wait"));
        writeln!(
            out,
            "  {n} {wait} until a program of this build starts, which takes {} over",
            they(set.waiting, "it", "them")
        )?;
    }
    if set.tests.iter().any(|t| t.test.is_none()) {
        writeln!(out, "  name the program to see the names of its tests")?;
    }
    Ok(())
}

/// Writes a table: so many columns of names, then numbers.
fn columns<const N: usize>(
    names: usize,
    head: [&str; N],
    mut rows: Vec<[String; N]>,
    out: &mut dyn Write,
) -> io::Result<()> {
    rows.insert(0, head.map(String::from));
    let widths: [usize; N] = std::array::from_fn(|i| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0));
    for row in &rows {
        let mut line = String::new();
        for (i, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[i] - cell.chars().count());
            line += &if i < names { format!("  {cell}{pad}") } else { format!("  {pad}{cell}") };
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
