//! Tests that ran inside programs, as text and as json (docs/tests-json.md); [`junit`] and [`sarif`] are for others' tools.

pub mod cells;
pub mod failures;
pub mod junit;
pub mod sarif;

use std::io::{self, Write};

use super::{accounts, document, many};
use crate::study::tests::{Cost, Findings, Numbers};
use cells::{duration, percent, shorten};
use failures::Group;

/// Version of the json document.
const VERSION: u32 = 1;
/// Names in tables are no longer than that.
const NAME: usize = 56;
/// So many ids of failures that are like another are listed.
const IDS: usize = 8;

/// In which form tests alone are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Tables for people
    Text,
    /// For programs; see docs/tests-json.md
    Json,
    /// JUnit's XML, for CI servers: a suite for each unit, a case for each test
    Junit,
    /// SARIF 2.1.0, for code scanning: a rule for each test, a result for each failure
    Sarif,
}

/// Writes tests alone.
pub fn write(findings: &Findings, format: Format, out: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Text => text(findings, out),
        Format::Json => document::write("unseen-tests", VERSION, findings, out),
        Format::Junit => junit::write(findings, out),
        Format::Sarif => sarif::write(findings, out),
    }
}

/// Writes failures first, then a line for each test, then one for each unit, then the sums.
pub fn text(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    for group in failures::grouped(&findings.failures) {
        describe(&group, out)?;
    }
    let row = |first: [&str; 2], numbers: &Numbers| {
        let names = first.map(|name| shorten(name, NAME));
        names.into_iter().chain(outcomes(numbers).map(|n| n.to_string())).collect()
    };
    let tests = findings.tests.iter().map(|t| row([&t.test, &t.unit], &t.numbers)).collect();
    table(&[&["Test", "Unit"][..], &OUTCOMES].concat(), 2, tests, out)?;
    writeln!(out)?;
    let row = |unit: &str, numbers: &Numbers| std::iter::once(shorten(unit, NAME)).chain(costs(numbers)).collect();
    let units = findings.units.iter().map(|u| row(&u.unit, &u.numbers)).collect();
    table(&[&["Unit"][..], &COSTS].concat(), 1, units, out)?;
    for unit in findings.units.iter().filter(|u| !u.opaque.is_empty()) {
        writeln!(out, "{}: tests run at each call, since the state does not decide ({})", unit.unit, unit.opaque)?;
    }
    writeln!(out, "\n{}", summary(&findings.summary))?;
    cost(&findings.cost).map_or(Ok(()), |cost| writeln!(out, "{cost}"))
}

/// Heads of what became of tests, and the numbers below them.
pub const OUTCOMES: [&str; 8] = ["Ran", "Passed", "Failed", "Crashed", "Late", "Hindered", "Skipped", "Spared"];

/// See [`OUTCOMES`].
pub fn outcomes(n: &Numbers) -> [u64; 8] {
    [n.ran, n.passed, n.failed, n.crashed, n.late, n.hindered, n.skipped, n.spared]
}

/// Heads of states and costs, and what stands below them: the paper's DSP, RSP, t_d, t_u, t_s and break-even.
pub const COSTS: [&str; 8] = ["Calls", "States", "DSP", "RSP", "t_d", "t_u", "t_s", "Break-even"];

/// See [`COSTS`].
pub fn costs(n: &Numbers) -> [String; 8] {
    [
        n.calls.to_string(),
        n.states().to_string(),
        percent(n.distinct_states),
        percent(n.repeated_states),
        duration(n.check_us),
        duration(n.note_us),
        duration(n.stall_us),
        percent(n.break_even),
    ]
}

/// The sums in one line.
pub fn summary(n: &Numbers) -> String {
    let mut text = format!(
        "{} ran in {}: {} passed, {} failed, {} crashed, {} took too long, {} could not be run to the end, {} skipped",
        many(n.ran as usize, "test"),
        many(n.calls as usize, "call"),
        n.passed,
        n.failed,
        n.crashed,
        n.late,
        n.hindered,
        n.skipped
    );
    for (count, what) in [
        (n.spared, "spared"),
        (n.under_way, "under way"),
        (n.strange, "calls in strange states"),
        (n.rescued, "of them rescued"),
    ] {
        if count > 0 {
            text += &format!(", {count} {what}");
        }
    }
    text
}

/// What it cost, if that is known.
pub fn cost(cost: &Cost) -> Option<String> {
    let share = cost.share?;
    let [spent, process] = [Some(cost.spent_us), cost.process_us].map(duration);
    Some(format!("That took {spent}, {share:.2} % of the program's CPU time of {process}"))
}

/// Writes columns; the first `names` are flush left, the others right.
fn table(heads: &[&str], names: usize, rows: Vec<Vec<String>>, out: &mut dyn Write) -> io::Result<()> {
    let head: Vec<String> = heads.iter().map(|h| (*h).to_owned()).collect();
    let all: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let widths: Vec<usize> =
        (0..heads.len()).map(|i| all.iter().map(|row| row[i].chars().count()).max().unwrap_or(0)).collect();
    for row in &all {
        let cells = row.iter().zip(&widths).enumerate();
        let line: String = cells
            .map(|(i, (cell, w))| if i < names { format!("{cell:w$}  ") } else { format!("{cell:>w$}  ") })
            .collect();
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn describe(group: &Group<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", failures::headline(group.first))?;
    for (what, text) in failures::facts(group.first) {
        writeln!(out, "  {what:7}  {text}")?;
    }
    for line in group.first.output.lines() {
        writeln!(out, "  | {line}")?;
    }
    for line in accounts::lines(&group.first.account) {
        writeln!(out, "  {line}")?;
    }
    if let Some(more) = group.more(IDS) {
        writeln!(out, "  {more}")?;
    }
    writeln!(out)
}
