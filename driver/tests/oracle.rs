//! No unseen state is ever skipped, and none is tested twice: programs that know by themselves which states they met, held against the seen
//! set. The states of the program are compared as wholes, those of the set by how many there are of each unit.

mod toolbox;

use std::collections::{BTreeMap, BTreeSet};
use toolbox::{Place, root};

fn build(place: &Place) {
    let file = root().join("testdata/programs/c/vivo/oracle.c");
    place.run(&format!("unseen-clang -w -g -O2 --unseen=state,cover {} -o program", file.display())).fine();
}

/// How many states each unit met, by what programs printed.
fn met(outputs: &[String]) -> BTreeMap<String, u64> {
    let all: BTreeSet<&str> = outputs.iter().flat_map(|text| text.lines()).collect();
    let mut counts = BTreeMap::new();
    for state in all {
        *counts.entry(state.split(' ').next().unwrap().to_owned()).or_insert(0) += 1;
    }
    counts
}

/// How many states of each unit the seen set has.
fn seen(place: &Place) -> BTreeMap<String, u64> {
    let text = place.run("unseen seen stats --format json program").fine().stdout;
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    let tests = found["sets"][0]["tests"].as_array().unwrap_or_else(|| panic!("{text}"));
    tests.iter().map(|t| (t["unit"].as_str().unwrap().to_owned(), t["states"].as_u64().unwrap())).collect()
}

/// Tests of the last run that ran, and that did not pass.
fn ran(place: &Place) -> (u64, u64) {
    let text = place.run("unseen tests --last --format json").stdout;
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    let get = |key: &str| found["summary"][key].as_u64().unwrap();
    (get("ran"), get("ran") - get("passed"))
}

#[test]
fn a_million_calls_skip_no_state_and_test_each_once() {
    let place = Place::new();
    build(&place);
    let out = place.run("unseen run ./program 1 1000000").fine().stdout;
    let wanted = met(&[out]);
    assert_eq!(wanted.len(), 4);
    assert_eq!(seen(&place), wanted);
    let (tests, bad) = ran(&place);
    assert_eq!((tests, bad), (wanted.values().sum(), 0));
    // Nothing is left to do.
    place.run("unseen run ./program 1 100000").fine();
    assert_eq!(ran(&place), (0, 0));
}

#[test]
fn eight_processes_that_fork_and_are_killed_skip_no_state() {
    let place = Place::new();
    build(&place);
    // Those that are killed print nothing; whoever comes later meets the same states again.
    let start = "for i in 1 2 3 4 5 6 7 8; do ./program $i";
    let kill = format!(
        "export UNSEEN_DIR=$PWD/.unseen UNSEEN_RUN=killed; {start} 100000000 & p=\"$p $!\"; done; sleep 1; kill -9 $p"
    );
    place.shell(&kill);
    let half = seen(&place);
    let all =
        format!("export UNSEEN_DIR=$PWD/.unseen UNSEEN_RUN=all; {start} 100000 2 >out.$i & done; wait; cat out.*");
    let wanted = met(&[place.shell(&all).fine().stdout]);
    // A run that waits for its tests, and meets what is left.
    place.run("unseen run ./program 9 300000").fine();
    place.run("unseen run ./program 9 300000").fine();
    let all = seen(&place);
    assert_eq!(all, wanted);
    assert!(half.iter().all(|(unit, states)| *states <= all[unit]), "{half:?}");
}
