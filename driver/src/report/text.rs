//! The report for people: tests, a table of files, on demand functions and the source that was not reached.

use std::io::{self, Write};

use super::{many, source};
use crate::study::cover::{Branch, Coverage, File, Function, Line, Share, Totals};
use crate::study::tests::Findings;

/// What to show.
#[derive(Debug, Default, Clone)]
pub struct Options {
    pub colour: bool,
    /// List functions.
    pub functions: bool,
    /// Show the source that was not reached of files with these names.
    pub lines: Vec<String>,
}

/// Lines shown around what was not reached.
const CONTEXT: u32 = 2;

/// Writes the report: tests first, if there are any, then the coverage, if there is any.
pub fn write(
    coverage: &Coverage,
    findings: Option<&Findings>,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let pen = Pen { colour: options.colour };
    if !options.lines.is_empty() {
        let mut chosen = coverage.files.iter().filter(|f| options.lines.iter().any(|name| is_called(f, name)));
        return chosen.try_for_each(|f| excerpt(f, coverage.first, &pen, out));
    }
    if let Some(findings) = findings {
        super::tests::text(findings, out)?;
        if coverage.modules.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
    }
    table(coverage, &pen, out)?;
    if options.functions {
        coverage.files.iter().filter(|f| !f.functions.is_empty()).try_for_each(|f| functions(f, &pen, out))?;
    }
    Ok(())
}

/// Whether the user may mean this file: its path, or the end of it.
pub fn is_called(file: &File, name: &str) -> bool {
    let name = name.strip_prefix("./").unwrap_or(name);
    file.shown == name || file.path == name || file.path.ends_with(&format!("/{name}"))
}

/// Colours, or none.
struct Pen {
    colour: bool,
}

impl Pen {
    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn good(&self, share: Share, text: &str) -> String {
        match share.percent() {
            None => self.paint("2", text),
            Some(p) if p >= 90.0 => self.paint("32", text),
            Some(p) if p >= 60.0 => self.paint("33", text),
            Some(_) => self.paint("31", text),
        }
    }

    fn bold(&self, text: &str) -> String {
        self.paint("1", text)
    }

    fn dim(&self, text: &str) -> String {
        self.paint("2", text)
    }
}

const COLUMNS: [&str; 4] = ["Functions", "Statements", "Lines", "Branches"];

fn shares(totals: &Totals) -> [Share; 4] {
    [totals.functions, totals.statements, totals.lines, totals.branches]
}

fn cell(share: Share) -> String {
    match share.percent() {
        Some(percent) => format!("{}/{} {:>5} %", share.covered, share.total, tenths(percent)),
        None => "-".into(),
    }
}

/// Never 100.0 when something is missing, never 0.0 when something is there.
pub fn tenths(percent: f64) -> String {
    let rounded = if percent > 99.9 && percent < 100.0 {
        99.9
    } else if percent > 0.0 && percent < 0.1 {
        0.1
    } else {
        // Halves go up, as in the page's script.
        (percent * 10.0).round() / 10.0
    };
    format!("{rounded:.1}")
}

fn table(coverage: &Coverage, pen: &Pen, out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<(&str, [Share; 4])> = coverage
        .files
        .iter()
        .map(|f| (f.shown.as_str(), shares(&f.totals)))
        .chain(std::iter::once(("Total", shares(&coverage.totals))))
        .collect();
    let name_width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max("File".len());
    let widths: [usize; 4] = std::array::from_fn(|i| {
        rows.iter().map(|(_, shares)| cell(shares[i]).len()).max().unwrap_or(0).max(COLUMNS[i].len())
    });
    let heads: Vec<String> = COLUMNS.iter().zip(widths).map(|(c, w)| format!("{c:>w$}")).collect();
    writeln!(out, "{}", pen.bold(&format!("{:name_width$}  {}", "File", heads.join("  "))))?;
    for (i, (name, shares)) in rows.iter().enumerate() {
        let total = i + 1 == rows.len();
        if total {
            let width = name_width + widths.iter().map(|w| w + 2).sum::<usize>();
            writeln!(out, "{}", pen.dim(&"-".repeat(width)))?;
        }
        let name = format!("{name:name_width$}");
        write!(out, "{}", if total { pen.bold(&name) } else { name })?;
        for (share, w) in shares.iter().zip(widths) {
            write!(out, "  {}", pen.good(*share, &format!("{:>w$}", cell(*share))))?;
        }
        writeln!(out)?;
    }
    writeln!(out, "\n{}", pen.dim(&summary(coverage)))
}

/// Where the numbers come from, and what is not in them.
pub fn summary(coverage: &Coverage) -> String {
    let mut text = format!("{} in {}.", many(coverage.processes as usize, "process"), many(coverage.runs.len(), "run"));
    let left = &coverage.left_out;
    if left.files > 0 {
        text += &format!(
            " {} with {} left out: {}{}.",
            many(left.files, "file"),
            many(left.functions, "function"),
            left.why,
            if left.why.starts_with("toolchain") { " (--all shows them)" } else { "" }
        );
    }
    if left.unplaced > 0 {
        text += &format!(" {} without a place in the source.", many(left.unplaced, "function"));
    }
    text
}

fn functions(file: &File, pen: &Pen, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{}", pen.bold(&file.shown))?;
    let place = |f: &Function| f.line.to_string();
    let lines = file.functions.iter().map(|f| place(f).len()).max().unwrap_or(0);
    let hits = file.functions.iter().map(|f| f.hits.to_string().len()).max().unwrap_or(0);
    let cells = file.functions.iter().map(|f| cell(f.statements).len()).max().unwrap_or(0);
    for f in &file.functions {
        let instances = match f.instances.len() {
            0 | 1 => String::new(),
            n => format!("  ({} of {n} instances)", f.instances.iter().filter(|i| i.hits > 0).count()),
        };
        let cell = pen.good(f.statements, &format!("{:>cells$}", cell(f.statements)));
        let hits = format!("{:>hits$}", f.hits);
        let hits = if f.hits == 0 { pen.paint("31", &hits) } else { hits };
        writeln!(out, "  {:>lines$}  {hits}x  {cell}  {}{}", place(f), f.name, pen.dim(&instances))?;
    }
    Ok(())
}

/// What is wrong with a line, if anything.
fn blame(line: &Line, branches: &[&Branch]) -> Option<String> {
    if line.hits == 0 {
        return None;
    }
    let mut parts = Vec::new();
    if line.statements.covered < line.statements.total {
        let missing = (line.statements.total - line.statements.covered) as usize;
        parts.push(format!("{} of {} not reached", missing, many(line.statements.total as usize, "statement")));
    }
    for branch in branches {
        let never = |a: &&crate::study::cover::Arm| a.reachable && a.hits == 0;
        let arms: Vec<&str> = branch.arms.iter().filter(never).map(|a| a.label.as_str()).collect();
        if !arms.is_empty() {
            parts.push(format!("branch at column {}: never {}", branch.column, arms.join(", ")));
        }
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn excerpt(file: &File, recorded: Option<u64>, pen: &Pen, out: &mut dyn Write) -> io::Result<()> {
    let lines = file.totals.lines;
    let head = format!("{}: {} of {} covered", file.shown, lines.covered, many(lines.total as usize, "line"));
    writeln!(out, "{}", pen.bold(&head))?;
    let branches_on = |n: u32| {
        let first = file.branches.partition_point(|b| b.line < n);
        file.branches[first..].iter().take_while(|b| b.line == n).collect::<Vec<_>>()
    };
    let wanted: Vec<(&Line, Option<String>)> = file
        .lines
        .iter()
        .map(|l| (l, blame(l, &branches_on(l.number))))
        .filter(|(l, blame)| l.hits == 0 || blame.is_some())
        .collect();
    let Some(source) = source::read(&file.path, recorded) else {
        writeln!(out, "  the source is not there; not or not wholly reached:")?;
        for (line, blame) in wanted {
            writeln!(out, "  line {}: {}", line.number, blame.as_deref().unwrap_or("not reached"))?;
        }
        return writeln!(out);
    };
    if source.changed {
        writeln!(out, "  {}", pen.paint("33", "the source was changed after this was recorded: lines may have moved"))?;
    }
    let hits = |n: u32| file.lines.binary_search_by_key(&n, |l| l.number).ok().map(|i| file.lines[i].hits);
    let last = source.lines.len() as u32;
    let mut shown = 0;
    for (at, (line, _)) in wanted.iter().enumerate() {
        // A gap of one line takes as much room as that line.
        let from = line.number.saturating_sub(CONTEXT).max(shown + 1);
        let from = if from == shown + 2 { shown + 1 } else { from };
        // Up to the context of this line, or to where the next one takes over.
        let next = wanted.get(at + 1).map_or(u32::MAX, |(l, _)| l.number);
        let to = (line.number + CONTEXT).min(last).min(next - 1);
        if from > shown + 1 {
            writeln!(out, "{}", pen.dim("       ..."))?;
        }
        for n in from..=to {
            let Some(text) = source.lines.get(n as usize - 1) else { break };
            let text = format!("{n:>6} | {}", text.replace('\t', "    "));
            match hits(n) {
                Some(0) => writeln!(out, "{}", pen.paint("31", &format!("{:>6} {text}", 0)))?,
                Some(hits) => writeln!(out, "{hits:>6} {text}")?,
                None => writeln!(out, "{}", pen.dim(&format!("{:>6} {text}", "")))?,
            }
            if let (true, (_, Some(blame))) = (n == line.number, &wanted[at]) {
                writeln!(out, "{}", pen.paint("33", &format!("{:>13} | ^ {blame}", "")))?;
            }
            shown = n;
        }
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::tenths;

    #[test]
    fn percentages_never_round_to_all_or_nothing() {
        let of = |covered: f64, total: f64| tenths(100.0 * covered / total);
        assert_eq!((of(0.0, 9.0), of(9.0, 9.0)), ("0.0".into(), "100.0".into()));
        assert_eq!((of(1.0, 99_999.0), of(99_998.0, 99_999.0)), ("0.1".into(), "99.9".into()));
        assert_eq!((of(51.0, 240.0), of(2.0, 3.0)), ("21.3".into(), "66.7".into()));
    }
}
