//! No unseen state is ever skipped, and none is tested twice: programs that know by themselves which states they met, held against the seen
//! set. The states of the program are compared as wholes, those of the set by how many there are of each unit.

mod toolbox;

use std::collections::{BTreeMap, BTreeSet};
use toolbox::{Place, root};

fn build(place: &Place, name: &str) {
    let file = root().join(format!("testdata/programs/c/vivo/{name}.c"));
    place.run(&format!("unseen-clang -w -g -O2 --unseen=state,cover {} -lpthread -o program", file.display())).fine();
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
    build(&place, "oracle");
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
    build(&place, "oracle");
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

/// What a call is about to read is its state, wherever it lies; what can't be told so is walked, or tested at each call. With several
/// threads, too, whose states are those that one of them has met before.
#[test]
fn states_are_what_calls_read_and_no_more() {
    let place = Place::new();
    build(&place, "traces");
    let met = met(&[place.run("unseen run ./program 1 20000").fine().stdout]);
    let seen_first = seen(&place);
    for unit in ["either", "after_write", "same", "share"] {
        assert_eq!(seen_first[unit], met[unit], "{unit}");
    }
    // Of an empty array, and of both that are short. Of those of one value, which nothing is written to.
    assert_eq!((seen_first["longest"], seen_first["rounds"]), (3, 1));
    assert_eq!(ran(&place).1, 0);
    place.run("unseen run ./program 2 5000 4").fine();
    assert_eq!(ran(&place).1, 0);
    let seen_then = seen(&place);
    for unit in ["either", "after_write", "share", "longest", "rounds"] {
        assert_eq!(seen_then[unit], seen_first[unit], "{unit}");
    }
    assert!(seen_then["same"] <= 2 * seen_first["same"], "these count by their addresses");
}

#[test]
fn a_null_pointer_is_found_by_the_test_before_it_ends_the_program() {
    let place = Place::new();
    build(&place, "traces");
    assert_ne!(place.run("unseen run ./program null").code, Some(0));
    let text = place.run("unseen tests --format json").stdout;
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["summary"]["crashed"], 1, "{text}");
}
