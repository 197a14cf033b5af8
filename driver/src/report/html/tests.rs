//! The part of the page about tests: sums, failures, pictures, tables. It needs no script.

use std::io::{self, Write};

use super::{escape, pictures};
use crate::calendar;
use crate::report::tests::cells::percent;
use crate::report::tests::failures::{self, Group};
use crate::report::tests::{COSTS, OUTCOMES, cost, costs, outcomes, summary};
use crate::report::{accounts, many};
use crate::study::sources::Spot;
use crate::study::tests::{Failure, Findings, Numbers, Unit};

/// So many kinds of failures are told in full, and so many of each kind are listed.
const MOST: usize = 100;

/// Writes the part.
pub fn write(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<section id=\"tests\" aria-label=\"Tests inside the program\">\n<h2 class=\"chapter\">Tests inside the program</h2>"
    )?;
    writeln!(out, "<p class=\"sub\">{}</p>", escape(&summary(&findings.summary)))?;
    if let Some(cost) = cost(&findings.cost) {
        writeln!(out, "<p class=\"sub\">{}</p>", escape(&cost))?;
    }
    cards(&findings.summary, out)?;
    let groups = failures::grouped(&findings.failures);
    groups.iter().take(MOST).try_for_each(|group| failure(group, out))?;
    if groups.len() > MOST {
        writeln!(out, "<p class=\"sub\">{} more kinds of failures are in the JSON report.</p>", groups.len() - MOST)?;
    }
    out.write_all(pictures::figures(findings).as_bytes())?;
    writeln!(out, "<h3>Tests</h3>")?;
    let names = |test: &str, place: &Option<Spot>| format!("<th scope=\"row\">{}</th>", named(test, place));
    table(&[&["Test", "Unit"][..], &OUTCOMES].concat(), 2, out, |out| {
        for test in &findings.tests {
            let unit = format!("<td class=\"name\">{}</td>", escape(&test.unit));
            let cells = outcomes(&test.numbers);
            let cells = cells.iter().enumerate().map(|(i, n)| {
                // Failed, crashed, late.
                let class = if (2..=4).contains(&i) && *n > 0 { "num zero" } else { "num" };
                format!("<td class=\"{class}\">{n}</td>")
            });
            writeln!(out, "<tr>{}{unit}{}</tr>", names(&test.test, &test.test_place), cells.collect::<String>())?;
        }
        Ok(())
    })?;
    writeln!(out, "<h3>Units</h3>")?;
    table(&[&["Unit"][..], &COSTS].concat(), 1, out, |out| {
        for unit in &findings.units {
            let cells = costs(&unit.numbers).map(|cell| format!("<td class=\"num\">{}</td>", escape(&cell)));
            writeln!(
                out,
                "<tr><th scope=\"row\">{}{}</th>{}</tr>",
                named(&unit.unit, &unit.unit_place),
                opaque(unit),
                cells.concat()
            )?;
        }
        Ok(())
    })?;
    writeln!(
        out,
        "<p class=\"sub below\">DSP and RSP: shares of calls in distinct and in repeated states. t_d: to find out whether a state was seen; \
         t_u: to note that it was; t_s: how long a caller stands still for a test. Looking states up pays while DSP is below \
         (t_s - t_d) / (t_u + t_s), the break-even. A dash is what was not measured.</p>\n</section>"
    )
}

fn cards(n: &Numbers, out: &mut dyn Write) -> io::Result<()> {
    let bad = if n.bad() > 0 { "big bad" } else { "big" };
    let of_calls = format!("{} of {}", percent(n.distinct_states), many(n.calls as usize, "call"));
    writeln!(out, "<div class=\"cards\">")?;
    for (name, class, value, below) in [
        ("Failures", bad, n.bad(), format!("{} failed, {} crashed, {} took too long", n.failed, n.crashed, n.late)),
        ("Tests run", "big", n.ran, format!("{} passed, {} not to the end", n.passed, n.hindered)),
        ("Distinct states", "big", n.states(), of_calls),
        ("Not run", "big", n.skipped + n.spared, format!("{} could not be started, {} spared", n.skipped, n.spared)),
    ] {
        writeln!(
            out,
            "<div class=\"card\"><h2>{name}</h2><p class=\"{class}\">{value}</p><p class=\"sub\">{}</p></div>",
            escape(&below)
        )?;
    }
    writeln!(out, "</div>")
}

fn failure(group: &Group<'_>, out: &mut dyn Write) -> io::Result<()> {
    let first = group.first;
    let class = if failures::counts(first) { "failure" } else { "failure hindered" };
    writeln!(out, "<article class=\"{class}\"><h3>{}</h3><dl>", escape(&failures::headline(first)))?;
    for (what, text) in failures::facts(first) {
        writeln!(out, "<dt>{what}</dt><dd>{}</dd>", escape(&text))?;
    }
    writeln!(out, "</dl>")?;
    if !first.output.is_empty() {
        writeln!(out, "<pre>{}</pre>", escape(first.output.trim_end()))?;
    }
    let account = accounts::lines(&first.account);
    if !account.is_empty() {
        writeln!(out, "<pre>{}</pre>", escape(&account.join("\n")))?;
    }
    if group.others.is_empty() {
        if let Some(more) = group.more(0) {
            writeln!(out, "<p class=\"sub\">{}</p>", escape(&more))?;
        }
        return writeln!(out, "</article>");
    }
    let count = group.count() - 1;
    writeln!(
        out,
        "<details><summary>{count} more like it, in {}</summary><ul>",
        many(group.others.len(), "other state")
    )?;
    for other in group.others.iter().take(MOST) {
        writeln!(out, "<li>{}</li>", escape(&in_a_line(other)))?;
    }
    if group.others.len() > MOST {
        writeln!(out, "<li>and {} more, in the JSON report</li>", group.others.len() - MOST)?;
    }
    writeln!(out, "</ul></details></article>")
}

fn in_a_line(failure: &Failure) -> String {
    let details = if failure.details.is_empty() { String::new() } else { format!(", {}", failure.details) };
    format!("{}: state {}, {}{details}", failure.id, failure.state, calendar::plain(failure.time))
}

fn table(
    heads: &[&str],
    names: usize,
    out: &mut dyn Write,
    rows: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let heads: Vec<String> = heads
        .iter()
        .enumerate()
        .map(|(i, head)| format!("<th scope=\"col\"{}>{head}</th>", if i < names { "" } else { " class=\"num\"" }))
        .collect();
    writeln!(out, "<div class=\"wide dense\"><table>\n<thead><tr>{}</tr></thead>\n<tbody>", heads.concat())?;
    rows(out)?;
    writeln!(out, "</tbody></table></div>")
}

fn named(name: &str, place: &Option<Spot>) -> String {
    let place =
        place.as_ref().map(|p| format!(" <span class=\"dir\">{}</span>", escape(&p.to_string()))).unwrap_or_default();
    format!("<span class=\"name\">{}</span>{place}", escape(name))
}

fn opaque(unit: &Unit) -> String {
    if unit.opaque.is_empty() {
        return String::new();
    }
    format!(
        "<div class=\"sub\">tests run at each call, since the state does not decide: {}</div>",
        escape(&unit.opaque)
    )
}
