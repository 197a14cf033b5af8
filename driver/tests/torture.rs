//! Nothing that a test does changes the program: `testdata/torture` holds programs that know what must come of what they do, with tests that
//! spoil what they can. A few hundred tests are run each time; to run more:
//!
//!   UNSEEN_TORTURE=100000 cargo test --release -p unseen-driver --test torture

mod toolbox;

use serde_json::Value;
use toolbox::{Place, root};

/// How many tests are to be run of each program, at least.
fn wanted() -> u64 {
    std::env::var("UNSEEN_TORTURE").map_or(300, |n| n.parse().expect("UNSEEN_TORTURE: how many tests"))
}

/// Runs the program with one thread and with eight. `each` is how many tests a round has, and `kept` which files it leaves.
fn torture(place: &Place, program: &str, each: u64, kept: &[&str]) {
    for threads in [1, 8] {
        place.shell("rm -rf .unseen work && mkdir work").fine();
        let rounds = wanted().div_ceil(each * threads);
        let run = format!("unseen run -- {program} work {threads} {rounds}");
        let ran = place.run_with(&run, &[("UNSEEN_POLICY", "always")]).fine();
        assert_eq!(ran.stdout, format!("{threads} threads, {rounds} rounds: nothing was spoilt\n"));
        let found: Value = serde_json::from_str(&place.run("unseen tests --format json").stdout).unwrap();
        let count = |name: &str| found["summary"][name].as_u64().unwrap();
        // A machine that has much else to do may keep some from running.
        let missing = count("skipped") + count("under_way") + count("late");
        assert!(missing <= wanted() / 50 && count("ran") + missing >= wanted(), "{found}");
        assert!(count("passed") > 0 && count("failed") > 0 && count("crashed") > 0, "{found}");
        let files = place.shell("ls work | sed s/-[0-9]*$// | sort | uniq -c").fine().stdout;
        let files: Vec<&str> = files.split_whitespace().collect();
        let number = threads.to_string();
        let expected = kept.iter().flat_map(|name| [if *name == "exits" { "1" } else { &number }, name]);
        assert!(files.iter().copied().eq(expected), "{files:?}");
    }
}

#[test]
fn c_programs_are_not_changed() {
    let place = Place::new();
    let source = root().join("testdata/torture/torture.c");
    place.run(&format!("unseen-clang --unseen=state -O1 {} -o torture -lutil", source.display())).fine();
    // Tests of children are left out where there are several threads.
    torture(&place, "./torture", 18, &["exits", "file", "mapped", "stream"]);
    assert_eq!(place.shell("cat work/exits").fine().stdout, "x", "what is registered for the end ran once");
}

#[test]
fn rust_programs_are_not_changed() {
    let place = Place::new();
    place.write("src/main.rs", &std::fs::read_to_string(root().join("testdata/torture/torture.rs")).unwrap());
    let api = root().join("runtime/api");
    let manifest = "[package]\nname = 'torture'\nversion = '0.1.0'\nedition = '2024'\n";
    place.write("Cargo.toml", &format!("{manifest}[dependencies]\nunseen = {{ path = '{}' }}\n", api.display()));
    place.run_with("cargo unseen build --quiet --offline --target-dir out", &[("UNSEEN_BUILD", "state")]).fine();
    torture(&place, "out/debug/torture", 7, &["file", "lines"]);
}
