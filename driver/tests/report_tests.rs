//! What `unseen tests` and `unseen report` say of tests, in each format, on a small store; and that all formats say the same.

mod report_fixture;

use std::collections::HashMap;
use std::fs;

use proptest::prelude::*;
use quick_xml::events::Event;
use report_fixture::{House, PROGRAM, golden};
use serde_json::Value;
use unseen_abi::event::Kind;
use unseen_abi::manifest::{Function, Outcome, Reason};
use unseen_abi::state::{Attached, Attachments, Tally, Test};

const ENDS: [&str; 5] = ["passed", "failed", "crashed", "late", "hindered"];

fn pretty(text: &str) -> String {
    let document: Value = serde_json::from_str(text).unwrap();
    serde_json::to_string_pretty(&document).unwrap() + "\n"
}

/// What a command prints whose tests failed.
fn findings(house: &House, args: &[&str]) -> String {
    let ran = house.unseen(args);
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), ""), "{}", ran.out);
    ran.out
}

#[test]
fn each_format() {
    let house = House::tested();
    golden("tests.txt", &findings(&house, &["tests"]));
    golden("tests.json", &pretty(&findings(&house, &["tests", "--format", "json"])));
    golden("tests.junit.xml", &findings(&house, &["tests", "--format", "junit"]));
    golden("tests.sarif", &pretty(&findings(&house, &["tests", "--format", "sarif"])));
    golden("tests-and-coverage.txt", &house.unseen(&["report"]).fine());
}

#[test]
fn the_report_has_the_same_tests_before_the_coverage() {
    let house = House::tested();
    for format in ["junit", "sarif"] {
        let alone = findings(&house, &["tests", "--format", format]);
        assert_eq!(house.unseen(&["report", "--format", format]).fine(), alone);
    }
    let alone: Value = serde_json::from_str(&findings(&house, &["tests", "--format", "json"])).unwrap();
    let both: Value = serde_json::from_str(&house.unseen(&["report", "--format", "json"]).fine()).unwrap();
    for key in ["failures", "units", "tests", "summary", "growth"] {
        assert_eq!(both["tests"][key], alone[key], "{key}");
    }
    assert_eq!((&both["format"], both["files"].as_array().unwrap().len()), (&"unseen-coverage".into(), 2));
    // Coverage is as it was.
    for format in ["lcov", "cobertura"] {
        let plain = House::new().unseen(&["report", "--format", format]).fine();
        assert_eq!(house.unseen(&["report", "--format", format]).fine(), plain);
    }
    let text = house.unseen(&["report"]).fine();
    assert!(text.starts_with("fail: ") && text.ends_with(&House::new().unseen(&["report"]).fine()), "{text}");
    let lines = house.unseen(&["report", "--lines", "shape.c"]).fine();
    assert!(lines.starts_with("src/shape.c: "), "{lines}");
    house.unseen(&["report", "-o", "out.sarif"]).fine();
    assert!(fs::read_to_string(house.path("out.sarif")).unwrap().contains("\"version\":\"2.1.0\""));
    // Without tests there is nothing of them.
    let none = House::new();
    assert!(!none.unseen(&["report", "--format", "json"]).fine().contains("\"tests\":"));
    for format in ["junit", "sarif"] {
        let ran = none.unseen(&["report", "--format", format]);
        assert_eq!(ran.code, Some(3));
        assert!(ran.err.contains("no program with attached tests"), "{}", ran.err);
    }
    let ran = house.unseen(&["report", "--format", "junit", "--fail-under", "50"]);
    assert!(ran.code == Some(2) && ran.err.contains("about coverage"), "{}", ran.err);
}

#[test]
fn tests_without_coverage_are_a_report() {
    let house = House::tested();
    for run in fs::read_dir(house.path(".unseen/runs")).unwrap() {
        for file in fs::read_dir(run.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|e| e == "cov") {
                fs::remove_file(path).unwrap();
            }
        }
    }
    assert_eq!(house.unseen(&["report"]).fine(), findings(&house, &["tests"]));
    house.unseen(&["report", "-o", "page.html"]).fine();
    let page = fs::read_to_string(house.path("page.html")).unwrap();
    assert!(page.contains("id=\"states-over-time\"") && !page.contains("id=\"files\""));
    assert_eq!(house.unseen(&["report", "--fail-under", "50"]).code, Some(3));
    assert_eq!(house.unseen(&["report", "--format", "lcov"]).code, Some(3));
}

#[test]
fn damaged_and_renamed_files_cost_no_more_than_themselves() {
    let house = House::tested();
    fs::write(house.path(".unseen/runs/20260101T000000.000000Z-1/bad.state"), "nothing").unwrap();
    let ran = house.unseen(&["tests", "--format", "json"]);
    assert!(ran.code == Some(1) && ran.err.contains("bad.state: is damaged"), "{}", ran.err);
    house.write_binary("bin/shape", &[house.program()]);
    let ran = house.unseen(&["tests"]);
    assert!(ran.code == Some(3) && ran.err.contains("bin/shape is no longer what ran"), "{}", ran.err);
    assert!(ran.err.contains("no program with attached tests"), "{}", ran.err);
    // The coverage is still there.
    assert_eq!(house.unseen(&["report"]).code, Some(0));
}

#[test]
fn tests_are_kept_for_reports_after_the_next_build() {
    let house = House::tested();
    let one = "20260101T000000.000000Z-1";
    let before = findings(&house, &["tests", "--run", one]);
    // The program's part is played by a copy of what it left.
    let script = format!("cp {}/* $UNSEEN_DIR/runs/$UNSEEN_RUN/", house.path(".unseen/runs").join(one).display());
    let ran = house.unseen(&["run", "--name", "again", "--", "sh", "-c", &script]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    house.write_binary("bin/shape", &[house.plugin()]);
    let after = findings(&house, &["tests", "--run", "again"]);
    assert_eq!(after, before);
    fs::remove_dir_all(house.path("bin")).unwrap();
    assert_eq!(findings(&house, &["tests", "--run", one]), before, "they are known by their build, in all runs");
}

/// A case of JUnit's: its suite, its name, the names of its elements and what they say.
#[derive(Debug)]
struct Case {
    unit: String,
    test: String,
    time: f64,
    elements: Vec<(String, HashMap<String, String>, String)>,
}

/// A suite of JUnit's.
#[derive(Debug, Default)]
struct Suite {
    attributes: HashMap<String, String>,
    properties: HashMap<String, String>,
    cases: Vec<Case>,
}

/// Reads a document, and holds its structure against what Jenkins takes.
fn junit(xml: &str) -> (HashMap<String, String>, Vec<Suite>) {
    let parents: HashMap<&str, &str> = HashMap::from([
        ("testsuites", ""),
        ("testsuite", "testsuites"),
        ("properties", "testsuite"),
        ("property", "properties"),
        ("testcase", "testsuite"),
        ("failure", "testcase"),
        ("error", "testcase"),
        ("skipped", "testcase"),
        ("system-out", "testcase"),
    ]);
    let mut reader = quick_xml::Reader::from_str(xml);
    let (mut all, mut suites, mut open): (_, Vec<Suite>, Vec<String>) = (HashMap::new(), Vec::new(), Vec::new());
    loop {
        let (element, is_empty) = match reader.read_event().unwrap() {
            Event::Start(e) => (e, false),
            Event::Empty(e) => (e, true),
            Event::End(_) => {
                open.pop();
                continue;
            }
            Event::Text(text) => {
                if let Some("failure" | "error" | "system-out") = open.last().map(String::as_str) {
                    let element = suites.last_mut().unwrap().cases.last_mut().unwrap().elements.last_mut().unwrap();
                    element.2 += &text.decode().unwrap();
                }
                continue;
            }
            Event::GeneralRef(_) | Event::Decl(_) => continue,
            Event::Eof => break,
            other => panic!("{other:?}"),
        };
        let name = String::from_utf8(element.name().as_ref().to_vec()).unwrap();
        assert_eq!(parents[name.as_str()], open.last().map_or("", String::as_str), "{name} in {open:?}");
        let attributes: HashMap<String, String> = element
            .attributes()
            .map(|a| a.unwrap())
            .map(|a| (String::from_utf8(a.key.0.to_vec()).unwrap(), a.unescape_value().unwrap().into_owned()))
            .collect();
        match name.as_str() {
            "testsuites" => all = attributes,
            "testsuite" => suites.push(Suite { attributes, ..Suite::default() }),
            "property" => {
                let suite = suites.last_mut().unwrap();
                assert!(suite.cases.is_empty(), "properties come first");
                suite.properties.insert(attributes["name"].clone(), attributes["value"].clone());
            }
            "testcase" => suites.last_mut().unwrap().cases.push(Case {
                unit: attributes["classname"].clone(),
                test: attributes["name"].clone(),
                time: attributes["time"].parse().unwrap(),
                elements: Vec::new(),
            }),
            "properties" => {}
            _ => {
                let case = suites.last_mut().unwrap().cases.last_mut().unwrap();
                case.elements.push((name.clone(), attributes, String::new()));
            }
        }
        if !is_empty {
            open.push(name);
        }
    }
    assert!(open.is_empty());
    (all, suites)
}

/// What must hold for JUnit's document of these findings.
fn check_junit(json: &Value, xml: &str) {
    let (all, suites) = junit(xml);
    let units = json["units"].as_array().unwrap();
    assert_eq!(suites.len(), units.len());
    let number = |of: &HashMap<String, String>, key: &str| of[key].parse::<f64>().unwrap();
    for key in ["tests", "failures", "errors", "skipped"] {
        assert_eq!(number(&all, key), suites.iter().map(|s| number(&s.attributes, key)).sum::<f64>(), "{key}");
    }
    assert_eq!(number(&all, "tests") as usize, json["tests"].as_array().unwrap().len());
    let bad = |s: &Suite| number(&s.attributes, "failures") + number(&s.attributes, "errors") > 0.0;
    assert!(suites.is_sorted_by_key(|s| !bad(s)), "failures come first");
    for suite in &suites {
        let unit = units.iter().find(|u| u["unit"] == suite.attributes["name"].as_str()).unwrap();
        for key in ["calls", "ran", "skipped", "spared"].iter().chain(&ENDS) {
            assert_eq!(suite.properties[*key], unit[*key].to_string(), "{key}");
        }
        let states = unit["unseen"].as_u64().unwrap() + unit["untold"].as_u64().unwrap();
        assert_eq!(suite.properties["states"], states.to_string());
        let count = |name: &str| suite.cases.iter().filter(|c| c.elements.iter().any(|e| e.0 == name)).count() as f64;
        for (key, name) in [("failures", "failure"), ("errors", "error"), ("skipped", "skipped")] {
            assert_eq!(number(&suite.attributes, key), count(name), "{key}");
        }
        assert_eq!(number(&suite.attributes, "tests"), suite.cases.len() as f64);
        for case in &suite.cases {
            assert_eq!(case.unit, suite.attributes["name"]);
            let same = |t: &&Value| t["test"] == case.test.as_str() && t["unit"] == case.unit.as_str();
            let test = json["tests"].as_array().unwrap().iter().find(same).unwrap();
            let [passed, failed, crashed, late, _] = ENDS.map(|end| test[end].as_u64().unwrap());
            let expected = if failed > 0 {
                "failure"
            } else if crashed + late > 0 {
                "error"
            } else if passed > 0 {
                ""
            } else {
                "skipped"
            };
            assert_eq!(case.elements.first().map_or("", |e| e.0.as_str()), expected, "{case:?}");
            let ran = test["ran"].as_f64().unwrap();
            let wall = test["wall_us"].as_f64().unwrap_or(0.0) * ran / 1e6;
            assert!((case.time - wall).abs() < 1e-5, "{case:?}");
            // Each failure that was told is in the text, by its id.
            if matches!(expected, "failure" | "error") {
                let told = json["failures"].as_array().unwrap().iter();
                for failure in told.filter(|f| f["test"] == case.test.as_str() && f["unit"] == case.unit.as_str()) {
                    assert!(case.elements[0].2.contains(failure["id"].as_str().unwrap()), "{failure} in {case:?}");
                }
            }
        }
    }
}

/// What must hold for the SARIF document of these findings.
fn check_sarif(json: &Value, sarif: &Value) {
    assert_eq!(sarif["version"], "2.1.0");
    let [run] = &sarif["runs"].as_array().unwrap()[..] else { panic!("one run") };
    let driver = &run["tool"]["driver"];
    assert!(driver["name"] == "unseen" && driver["semanticVersion"].is_string());
    let rules = driver["rules"].as_array().unwrap();
    for end in ENDS.iter().chain(&["ran", "skipped", "spared"]) {
        let sum = |all: &Vec<Value>, at: fn(&Value) -> &Value| -> u64 {
            all.iter().map(|one| at(one)[*end].as_u64().unwrap()).sum()
        };
        assert_eq!(sum(rules, |r| &r["properties"]), sum(json["tests"].as_array().unwrap(), |t| t), "{end}");
    }
    let base = run["originalUriBaseIds"]["%SRCROOT%"]["uri"].as_str().unwrap();
    assert!(base.starts_with("file://") && base.ends_with('/'), "{base}");
    let results = run["results"].as_array().unwrap();
    let notes = run["invocations"][0]["toolExecutionNotifications"].as_array().unwrap();
    assert_eq!(run["invocations"][0]["executionSuccessful"], true);
    let failures = json["failures"].as_array().unwrap();
    let (hindered, told): (Vec<&Value>, Vec<&Value>) = failures.iter().partition(|f| f["outcome"] == "environment");
    assert_eq!((results.len(), notes.len()), (told.len(), hindered.len()));
    for (result, failure) in results.iter().zip(told) {
        assert_eq!(result["level"], "error");
        let rule = &rules[result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!((&rule["id"], &result["ruleId"]), (&failure["test"], &failure["test"]));
        assert!(!rule["shortDescription"]["text"].as_str().unwrap().is_empty());
        assert_eq!(result["fingerprints"]["unseen/v1"], failure["id"]);
        assert_eq!(result["occurrenceCount"].as_u64().unwrap(), failure["more"].as_u64().unwrap() + 1);
        assert!(result["message"]["text"].as_str().unwrap().contains(failure["id"].as_str().unwrap()));
        for key in ["outcome", "details", "state", "output", "build"] {
            assert_eq!(result["properties"][key], failure[key], "{key}");
        }
        check_location(&result["locations"][0], &failure["unit"], &failure["unit_place"]);
        if !failure["test_place"].is_null() {
            check_location(&result["relatedLocations"][0], &failure["test"], &failure["test_place"]);
        }
    }
    for (note, failure) in notes.iter().zip(hindered) {
        assert_eq!((&note["level"], &note["associatedRule"]["id"]), (&"warning".into(), &failure["test"]));
        assert!(note["message"]["text"].is_string() && note["timeUtc"].as_str().unwrap().ends_with('Z'));
    }
}

fn check_location(location: &Value, function: &Value, place: &Value) {
    assert_eq!(location["logicalLocations"][0]["fullyQualifiedName"], *function);
    let Some(place) = place.as_str() else {
        assert!(location["physicalLocation"].is_null());
        return;
    };
    let (file, line) = place.rsplit_once(':').unwrap();
    let physical = &location["physicalLocation"];
    assert_eq!(physical["region"]["startLine"].to_string(), line);
    let uri = physical["artifactLocation"]["uri"].as_str().unwrap();
    assert!(!uri.contains(' ') && uri.is_ascii(), "{uri}");
    assert_eq!(uri.replace("%20", " ").trim_start_matches("file://"), file);
    assert_eq!(physical["artifactLocation"]["uriBaseId"].is_string(), !file.starts_with('/'));
}

/// All formats of a store agree.
fn check_all(house: &House) {
    let text = |format: &str| {
        let ran = house.unseen(&["report", "--format", format, "--all"]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.out);
        ran.out
    };
    let json: Value = serde_json::from_str(&text("json")).unwrap();
    let json = &json["tests"];
    check_junit(json, &text("junit"));
    check_sarif(json, &serde_json::from_str(&text("sarif")).unwrap());
    let printed = text("text");
    let sum = |key: &str| json["units"].as_array().unwrap().iter().map(|u| u[key].as_u64().unwrap()).sum::<u64>();
    for key in ["calls", "unseen", "ran", "skipped"].iter().chain(&ENDS) {
        assert_eq!(json["summary"][*key], sum(key), "{key}");
    }
    let [passed, failed] = ["passed", "failed"].map(|key| json["summary"][key].to_string());
    assert!(printed.contains(&format!(": {passed} passed, {failed} failed, ")), "{printed}");
    for failure in json["failures"].as_array().unwrap() {
        assert_eq!(failure["id"].as_str().unwrap().len(), 12);
    }
}

#[test]
fn the_formats_of_a_store_agree() {
    check_all(&House::tested());
}

/// A store with random counts and failures of two units with up to three tests each.
fn random_house(tests: &[u32], counts: &[Vec<u64>], failures: &[(usize, u8, u8)]) -> House {
    let house = House::new();
    let mut program = house.program();
    let first = program.functions.len() as u32;
    let all: u32 = tests.iter().sum();
    program.functions.extend((0..all).map(|i| Function {
        name: format!("test_{i}<>&\"'"),
        source_name: String::new(),
        place: None,
        outcome: Outcome::Left(Reason::Standard),
        cover: None,
    }));
    let mut next = first;
    let units = tests.iter().enumerate().map(|(function, count)| {
        let own =
            (next..next + count).map(|function| Test { function, kind: unseen_abi::state::Kind::Before }).collect();
        next += count;
        Attached { function: function as u32, tests: own, opaque: String::new(), reads: Vec::new() }
    });
    let attached = Attachments { id: PROGRAM, units: units.collect() };
    house.write_tested_binary("bin/shape", &[program], &[attached]);
    let words: Vec<Vec<(Tally, u64)>> = counts.iter().take(all as usize).map(|c| tallied(c)).collect();
    let words: Vec<&[(Tally, u64)]> = words.iter().map(Vec::as_slice).collect();
    house.tallies("20260101T000000.000000Z-1", PROGRAM, 101, &words);
    for (at, (test, ending, state)) in failures.iter().enumerate() {
        let outcome = ["fail", "fail exited with 3", "crash signal 11", "timeout", "environment asked for fork"];
        let id = "11".repeat(16);
        let test = test % all as usize;
        let payload =
            format!("{at}\07\0{id}\0{test}\0{}\0{state:02x}\00\0out \u{1}<{at}>", outcome[*ending as usize % 5]);
        house.event("20260101T000000.000000Z-1", Kind::Test, payload.as_bytes());
    }
    house
}

const COUNTED: [Tally; 16] = [
    Tally::Calls,
    Tally::Unseen,
    Tally::Untold,
    Tally::Passed,
    Tally::Failed,
    Tally::Crashed,
    Tally::Late,
    Tally::Hindered,
    Tally::Skipped,
    Tally::Spared,
    Tally::Stall,
    Tally::Wall,
    Tally::Checks,
    Tally::Check,
    Tally::Notes,
    Tally::Note,
];

fn tallied(counts: &[u64]) -> Vec<(Tally, u64)> {
    COUNTED.into_iter().zip(counts.iter().copied()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn the_formats_of_any_store_agree(
        tests in proptest::collection::vec(1u32..4, 1..3),
        counts in proptest::collection::vec(proptest::collection::vec(prop_oneof![Just(0u64), 0u64..5_000], 16), 6),
        failures in proptest::collection::vec((0usize..6, any::<u8>(), 0u8..3), 0..12),
    ) {
        check_all(&random_house(&tests, &counts, &failures));
    }
}

#[test]
fn ids_are_those_of_build_test_and_state() {
    let failures: Vec<(usize, u8, u8)> = vec![(0, 0, 1), (1, 0, 1), (0, 0, 2), (0, 0, 1), (0, 2, 1)];
    let house = random_house(&[2], &[vec![9; 16], vec![9; 16]], &failures);
    let json: Value = serde_json::from_str(&house.unseen(&["report", "--format", "json"]).fine()).unwrap();
    let told: Vec<(&str, &str, &str, u64)> = json["tests"]["failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| {
            let text = |key: &str| f[key].as_str().unwrap();
            (text("test"), text("state"), text("id"), f["more"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(told.iter().map(|t| t.3).collect::<Vec<_>>(), [1, 0, 0, 0], "{told:?}");
    let id = |test: &str, state: &str| told.iter().find(|t| t.0.starts_with(test) && t.1 == state).unwrap().2;
    // A crash in the same state has the same id: it is reproduced in the same way.
    assert_eq!(told.iter().filter(|t| t.2 == id("test_0", "01")).count(), 2);
    assert!(id("test_0", "01") != id("test_1", "01") && id("test_0", "01") != id("test_0", "02"));
}
