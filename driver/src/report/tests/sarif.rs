//! SARIF 2.1.0: a rule for each test, a result for each failure, at the unit. What could not be run to its end says nothing about the
//! program: it is a notification of the tool's.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::super::many;
use super::failures;
use crate::calendar;
use crate::study::sources::Spot;
use crate::study::tests::{Failure, Findings, Test};

/// What relative paths are relative to.
const BASE: &str = "%SRCROOT%";

/// Writes the document.
pub fn write(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let rules = Rules::new(&findings.tests);
    let (told, hindered): (Vec<&Failure>, Vec<&Failure>) = findings.failures.iter().partition(|f| failures::counts(f));
    let mut invocation = json!({
        "executionSuccessful": true,
        "toolExecutionNotifications": hindered.iter().map(|f| notification(f, &rules)).collect::<Vec<_>>(),
    });
    let runs = &findings.growth.runs;
    if let (Some(start), Some(end)) = (runs.iter().map(|r| r.start).min(), runs.iter().map(|r| r.end).max()) {
        invocation["startTimeUtc"] = calendar::iso(start).into();
        invocation["endTimeUtc"] = calendar::iso(end).into();
    }
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "unseen",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.0.iter().map(|tests| rule(tests)).collect::<Vec<_>>(),
            } },
            "invocations": [invocation],
            "originalUriBaseIds": { BASE: { "uri": format!("file://{}/", encode(findings.root.trim_end_matches('/'))) } },
            "results": told.iter().map(|f| result(f, &rules)).collect::<Vec<_>>(),
        }],
    });
    serde_json::to_writer(&mut *out, &document)?;
    out.write_all(b"\n")
}

/// The tests, those of one function together: it may belong to several units.
struct Rules<'a>(Vec<Vec<&'a Test>>);

impl<'a> Rules<'a> {
    fn new(tests: &'a [Test]) -> Rules<'a> {
        let mut rules: Vec<Vec<&Test>> = Vec::new();
        for test in tests {
            let same = |r: &&mut Vec<&Test>| (&r[0].test, &r[0].test_place) == (&test.test, &test.test_place);
            match rules.iter_mut().find(same) {
                Some(rule) => rule.push(test),
                None => rules.push(vec![test]),
            }
        }
        Rules(rules)
    }

    fn index(&self, failure: &Failure) -> Option<usize> {
        self.0.iter().position(|r| (&r[0].test, &r[0].test_place) == (&failure.test, &failure.test_place))
    }
}

fn rule(tests: &[&Test]) -> Value {
    let units: Vec<&str> = tests.iter().map(|t| t.unit.as_str()).collect();
    let sum = |count: fn(&Test) -> u64| tests.iter().map(|t| count(t)).sum::<u64>();
    json!({
        "id": tests[0].test,
        "shortDescription": { "text": format!("{} must hold at each call of {}", tests[0].test, units.join(", ")) },
        "defaultConfiguration": { "level": "error" },
        "properties": {
            "units": units,
            "ran": sum(|t| t.numbers.ran),
            "passed": sum(|t| t.numbers.passed),
            "failed": sum(|t| t.numbers.failed),
            "crashed": sum(|t| t.numbers.crashed),
            "late": sum(|t| t.numbers.late),
            "hindered": sum(|t| t.numbers.hindered),
            "skipped": sum(|t| t.numbers.skipped),
            "spared": sum(|t| t.numbers.spared),
        },
    })
}

fn result(failure: &Failure, rules: &Rules<'_>) -> Value {
    let mut result = json!({
        "ruleId": failure.test,
        "level": "error",
        "message": { "text": message(failure) },
        "locations": [location(&failure.unit, failure.unit_place.as_ref())],
        "fingerprints": { "unseen/v1": failure.id },
        "occurrenceCount": failure.more + 1,
        "properties": properties(failure),
    });
    if let Some(index) = rules.index(failure) {
        result["ruleIndex"] = index.into();
    }
    if failure.test_place.is_some() {
        let mut related = location(&failure.test, failure.test_place.as_ref());
        related["id"] = 1.into();
        related["message"] = json!({ "text": "the test" });
        result["relatedLocations"] = json!([related]);
    }
    result
}

fn notification(failure: &Failure, rules: &Rules<'_>) -> Value {
    let mut rule = json!({ "id": failure.test });
    if let Some(index) = rules.index(failure) {
        rule["index"] = index.into();
    }
    json!({
        "level": "warning",
        "message": { "text": message(failure) },
        "locations": [location(&failure.unit, failure.unit_place.as_ref())],
        "associatedRule": rule,
        "timeUtc": calendar::iso(failure.time),
        "properties": properties(failure),
    })
}

fn message(failure: &Failure) -> String {
    let again =
        if failure.more > 0 { format!("\nagain: {}", many(failure.more as usize, "time")) } else { String::new() };
    failures::in_full(failure) + &again
}

fn properties(failure: &Failure) -> Value {
    json!({
        "outcome": failure.outcome,
        "details": failure.details,
        "state": failure.state,
        "output": failure.output,
        "process": failure.pid,
        "time": calendar::iso(failure.time),
        "build": failure.build,
    })
}

fn location(function: &str, spot: Option<&Spot>) -> Value {
    let mut location = json!({ "logicalLocations": [{ "fullyQualifiedName": function, "kind": "function" }] });
    if let Some(spot) = spot {
        let artifact = if spot.file.starts_with('/') {
            json!({ "uri": format!("file://{}", encode(&spot.file)) })
        } else {
            json!({ "uri": encode(&spot.file), "uriBaseId": BASE })
        };
        location["physicalLocation"] =
            json!({ "artifactLocation": artifact, "region": { "startLine": spot.line.max(1) } });
    }
    location
}

/// A path as part of a URI.
fn encode(path: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~/".contains(&b);
    path.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::encode;

    #[test]
    fn paths_become_uris() {
        assert_eq!(encode("src/a b#c%d:ü.c"), "src/a%20b%23c%25d%3A%C3%BC.c");
    }
}
