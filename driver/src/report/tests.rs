//! Tests that ran inside programs, as text and as json (docs/tests-json.md).

use std::io::{self, Write};

use super::text::tenths;
use super::{document, many};
use crate::study::tests::{Failure, Findings};

/// Version of the json document.
const VERSION: u32 = 1;

/// Writes the json document on one line.
pub fn json(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    document::write("unseen-tests", VERSION, findings, out)
}

/// Writes failures first, then a line for each test, then the sums.
pub fn text(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    for failure in &findings.failures {
        describe(failure, out)?;
    }
    let rows: Vec<[String; 7]> = findings
        .tests
        .iter()
        .map(|t| {
            [
                t.test.clone(),
                t.unit.clone(),
                t.calls.to_string(),
                if t.opaque.is_empty() { format!("{} %", tenths(t.distinct_states)) } else { "opaque".into() },
                (t.passed + t.failed + t.crashed + t.late + t.hindered).to_string(),
                (t.failed + t.crashed + t.late).to_string(),
                format!("{:.0} µs", t.stall_us),
            ]
        })
        .collect();
    let head = ["Test", "Unit", "Calls", "Distinct", "Ran", "Failed", "Stall"].map(String::from);
    let width = |i: usize| std::iter::once(&head).chain(&rows).map(|r| r[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    for row in std::iter::once(&head).chain(&rows) {
        let mut line = String::new();
        for (i, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[i] - cell.chars().count());
            line += &if i < 2 { format!("{cell}{pad}  ") } else { format!("{pad}{cell}  ") };
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    for test in findings.tests.iter().filter(|t| !t.opaque.is_empty()) {
        writeln!(
            out,
            "{} runs at each call of {}, whose state does not decide: {}",
            test.test, test.unit, test.opaque
        )?;
    }
    let s = &findings.summary;
    writeln!(
        out,
        "\n{} ran in {}: {} passed, {} failed, {} crashed, {} took too long, {} could not be run to the end, {} skipped",
        many(s.ran as usize, "test"),
        many(s.calls as usize, "call"),
        s.passed,
        s.failed,
        s.crashed,
        s.late,
        s.hindered,
        s.skipped
    )
}

fn describe(failure: &Failure, out: &mut dyn Write) -> io::Result<()> {
    let at = |place: &Option<String>| place.as_ref().map(|p| format!(" ({p})")).unwrap_or_default();
    let details = if failure.details.is_empty() { String::new() } else { format!(": {}", failure.details) };
    writeln!(
        out,
        "{}: {}{} of {}{}{details}",
        failure.outcome,
        failure.test,
        at(&failure.test_place),
        failure.unit,
        at(&failure.unit_place)
    )?;
    if !failure.state.is_empty() {
        writeln!(out, "  state {}, process {}", failure.state, failure.pid)?;
    }
    for line in failure.output.lines() {
        writeln!(out, "  | {line}")?;
    }
    if failure.more > 0 {
        writeln!(out, "  and {} more like it", failure.more)?;
    }
    writeln!(out)
}
