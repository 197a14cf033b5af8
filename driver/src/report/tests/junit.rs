//! JUnit's XML, as Jenkins and GitLab read it: a suite for each unit, a case for each test. Suites with failures come first.
//!
//! A test is one case, however often it ran: it failed if it ever did. `<failure>` is a verdict, `<error>` a crash or a test that took too
//! long, `<skipped>` a test that never came to an end.

use std::io::{self, Write};

use super::super::xml::{self, Xml, element, empty};
use super::cells::{duration, percent};
use super::failures::{self, Group};
use crate::calendar;
use crate::study::tests::{Ending, Findings, Numbers, Test, Unit};

/// Writes the document.
pub fn write(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let groups = failures::grouped(&findings.failures);
    let mut units: Vec<&Unit> = findings.units.iter().collect();
    units.sort_by_key(|u| u.numbers.bad() == 0);
    let mut attributes = vec![("name", "unseen".to_owned())];
    attributes.extend(sums(&findings.tests));
    let mut xml = xml::begin(out)?;
    element(&mut xml, "testsuites", &attributes, |xml| {
        units.iter().try_for_each(|unit| suite(unit, findings, &groups, xml))
    })?;
    xml.get_mut().write_all(b"\n")
}

fn suite(unit: &Unit, findings: &Findings, groups: &[Group<'_>], xml: &mut Xml<'_>) -> io::Result<()> {
    let tests = &findings.tests[unit.tests.clone()];
    let mut attributes = vec![("name", unit.unit.clone())];
    attributes.extend(sums(tests));
    if let Some(start) = findings.growth.runs.iter().map(|r| r.start).min() {
        attributes.push(("timestamp", calendar::iso(start).trim_end_matches('Z').to_owned()));
    }
    element(xml, "testsuite", &attributes, |xml| {
        element(xml, "properties", &[], |xml| {
            properties(unit)
                .into_iter()
                .try_for_each(|(name, value)| empty(xml, "property", &[("name", name.to_owned()), ("value", value)]))
        })?;
        tests.iter().try_for_each(|test| case(test, groups, xml))
    })
}

fn properties(unit: &Unit) -> Vec<(&'static str, String)> {
    let n = &unit.numbers;
    let mut all: Vec<(&str, String)> = [
        ("calls", n.calls),
        ("states", n.states()),
        ("ran", n.ran),
        ("passed", n.passed),
        ("failed", n.failed),
        ("crashed", n.crashed),
        ("late", n.late),
        ("hindered", n.hindered),
        ("skipped", n.skipped),
        ("spared", n.spared),
    ]
    .map(|(name, count)| (name, count.to_string()))
    .into();
    all.extend([
        ("DSP", percent(n.distinct_states)),
        ("RSP", percent(n.repeated_states)),
        ("t_d", duration(n.check_us)),
        ("t_u", duration(n.note_us)),
        ("t_s", duration(n.stall_us)),
        ("break-even", percent(n.break_even)),
    ]);
    all.extend(unit.unit_place.as_ref().map(|place| ("place", place.to_string())));
    all
}

fn case(test: &Test, groups: &[Group<'_>], xml: &mut Xml<'_>) -> io::Result<()> {
    let own: Vec<&Group<'_>> =
        groups.iter().filter(|g| (&g.first.unit, &g.first.test) == (&test.unit, &test.test)).collect();
    let attributes = [("classname", test.unit.clone()), ("name", test.test.clone()), ("time", seconds(&test.numbers))];
    let Some((name, kind, message)) = verdict(&test.numbers, &own) else {
        return empty(xml, "testcase", &attributes);
    };
    element(xml, "testcase", &attributes, |xml| {
        if name == "skipped" {
            return empty(xml, name, &[("message", message)]);
        }
        let told: Vec<String> = own.iter().map(|g| tell(g)).collect();
        xml::text(xml, name, &[("type", kind.word().to_owned()), ("message", message)], &told.join("\n\n"))?;
        let printed: Vec<&str> = own.iter().map(|g| g.first.output.as_str()).filter(|o| !o.is_empty()).collect();
        if printed.is_empty() { Ok(()) } else { xml::text(xml, "system-out", &[], &printed.join("\n")) }
    })
}

/// The element that says what is wrong, the kind of it, and what it says; nothing if all is well.
fn verdict(n: &Numbers, own: &[&Group<'_>]) -> Option<(&'static str, Ending, String)> {
    let of = |count: u64, what: &str| format!("{count} of {} {what}", n.ran);
    let why = |ending: Ending| {
        let details = own.iter().find(|g| g.first.outcome == ending).map(|g| g.first.details.as_str());
        details.filter(|d| !d.is_empty()).map(|d| format!(": {d}")).unwrap_or_default()
    };
    Some(match () {
        () if n.failed > 0 => ("failure", Ending::Fail, of(n.failed, "failed") + &why(Ending::Fail)),
        () if n.crashed > 0 => ("error", Ending::Crash, of(n.crashed, "crashed") + &why(Ending::Crash)),
        () if n.late > 0 => ("error", Ending::Timeout, of(n.late, "took too long")),
        () if n.passed > 0 => return None,
        () if n.hindered > 0 => {
            let why = why(Ending::Environment);
            ("skipped", Ending::Environment, format!("could not be run to the end{why}"))
        }
        () if n.calls > 0 => ("skipped", Ending::Environment, "no call was in a state that asks for a test".into()),
        () => ("skipped", Ending::Environment, "the unit was not called".into()),
    })
}

fn tell(group: &Group<'_>) -> String {
    let more = group.more(usize::MAX).map(|m| format!("\n{m}")).unwrap_or_default();
    failures::in_full(group.first) + &more
}

/// How many cases there are of each kind.
fn sums(tests: &[Test]) -> Vec<(&'static str, String)> {
    let count = |name: &str| tests.iter().filter(|t| verdict(&t.numbers, &[]).is_some_and(|v| v.0 == name)).count();
    let time: f64 = tests.iter().map(|t| total(&t.numbers)).sum();
    vec![
        ("tests", tests.len().to_string()),
        ("failures", count("failure").to_string()),
        ("errors", count("error").to_string()),
        ("skipped", count("skipped").to_string()),
        ("time", format!("{time:.6}")),
    ]
}

fn seconds(n: &Numbers) -> String {
    format!("{:.6}", total(n))
}

/// How long all runs of a test took, in s.
fn total(n: &Numbers) -> f64 {
    n.wall_us.unwrap_or(0.0) * n.ran as f64 / 1e6
}
