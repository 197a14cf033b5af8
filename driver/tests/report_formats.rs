//! Each format, on one small store, against a golden file in testdata/reports.

mod report_fixture;

use report_fixture::{House, golden};

#[test]
fn text() {
    let house = House::new();
    golden("table.txt", &house.unseen(&["report"]).fine());
    golden("functions.txt", &house.unseen(&["report", "--functions", "--all"]).fine());
    golden("lines.txt", &house.unseen(&["report", "--lines", "shape.c", "--lines", "src/clamp.hpp"]).fine());
}

#[test]
fn json() {
    let house = House::new();
    let out = house.unseen(&["report", "--format", "json"]).fine();
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    golden("report.json", &(serde_json::to_string_pretty(&document).unwrap() + "\n"));
}

#[test]
fn lcov() {
    golden("report.info", &House::new().unseen(&["report", "--format", "lcov"]).fine());
}

#[test]
fn cobertura() {
    golden("report.xml", &House::new().unseen(&["report", "--format", "cobertura"]).fine());
}

#[test]
fn manifest() {
    let house = House::new();
    golden("manifest.txt", &house.unseen(&["manifest", "bin/shape"]).fine());
    golden("manifest-all.txt", &house.unseen(&["manifest", "bin/shape", "--all"]).fine());
    let out = house.unseen(&["manifest", "bin/shape", "--format", "json"]).fine();
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    golden("manifest.json", &(serde_json::to_string_pretty(&document).unwrap() + "\n"));
}
