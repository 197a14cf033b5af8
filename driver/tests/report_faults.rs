//! Bad input: each fault is named, costs only itself, and never leaves anything half-written.

mod report_fixture;

use std::fs;

use report_fixture::{House, PROGRAM};
use unseen_abi::manifest::Manifest;

const RUN: &str = "20260101T000000.000000Z-1";

/// The report of the whole store, for comparison.
fn table(house: &House) -> String {
    house.unseen(&["report"]).fine()
}

#[test]
fn bad_counter_files_are_named_and_the_rest_is_reported() {
    let house = House::new();
    let before = table(&house);
    let runs = house.path(".unseen/runs").join(RUN);
    let whole = fs::read(house.counters(RUN, PROGRAM, 999, &[0])).unwrap();
    fs::remove_file(runs.join("11111111-999-1.cov")).unwrap();
    let mut newer = whole.clone();
    newer[8] = 7;
    let mut unfinished = whole.clone();
    unfinished[..8].fill(0);
    for (name, bytes, complaint) in [
        ("cut.cov", &whole[..5000], "$DIR/.unseen/runs/20260101T000000.000000Z-1/cut.cov: "),
        ("cut.cov", &whole[..4100], "cut.cov: is cut short: it has 4100 of 8192 bytes"),
        ("foreign.cov", b"hello, world", "foreign.cov: is not a counter file"),
        (
            "newer.cov",
            &newer,
            "newer.cov: has version 7, this build of Unseen reads up to 1; use the newer Unseen that wrote it, or remove it",
        ),
        ("unfinished.cov", &unfinished, "unfinished.cov: was never finished"),
        ("empty.cov", b"", "empty.cov: was never finished"),
        ("22222222-1-1.cov", &whole, "22222222-1-1.cov: holds counters of module 1111"),
    ] {
        fs::write(runs.join(name), bytes).unwrap();
        let ran = house.unseen(&["report"]);
        if bytes.len() == 5000 {
            // Enough for the 17 counters: what is missing is only padding.
            assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
        } else {
            assert_eq!((ran.code, &ran.out), (Some(0), &before), "{name}");
            assert!(ran.err.contains(complaint), "{name}: {}", ran.err);
        }
        fs::remove_file(runs.join(name)).unwrap();
    }
}

#[test]
fn counters_that_do_not_fit_the_manifest_are_refused() {
    let house = House::new();
    let file = house.counters(RUN, PROGRAM, 999, &[0]);
    let mut bytes = fs::read(&file).unwrap();
    bytes[40] = 18;
    fs::write(&file, bytes).unwrap();
    let ran = house.unseen(&["report"]);
    assert!(ran.err.contains("has 18 counters, but the manifest of module 1111"), "{}", ran.err);
    assert_eq!(ran.code, Some(0));
}

#[test]
fn a_rebuilt_binary_is_called_that_and_the_saved_manifest_beats_it() {
    let house = House::new();
    let before = table(&house);
    let manifests = house.path(".unseen/manifests");
    let saved = manifests.join("11111111111111111111111111111111.manifest");
    fs::create_dir_all(&manifests).unwrap();
    fs::write(&saved, house.program().encode()).unwrap();
    house.write_binary("bin/shape", &[Manifest { id: [0x33; 16], ..house.program() }]);
    assert_eq!(table(&house), before);

    fs::remove_file(&saved).unwrap();
    let ran = house.unseen(&["report"]);
    assert!(ran.err.contains("$DIR/bin/shape was rebuilt since this was recorded (it is module 3333"), "{}", ran.err);
    assert!(ran.err.contains("and the old manifest was not saved; run it again"), "{}", ran.err);
    assert!(ran.out.contains("clamp.hpp") && !ran.out.contains("shape.c"), "the plug-in's part is kept: {}", ran.out);

    fs::remove_file(house.path("bin/shape")).unwrap();
    assert!(house.unseen(&["report"]).err.contains("and $DIR/bin/shape is gone"));
}

#[test]
fn stores_that_cannot_be_used_say_why_and_what_to_do() {
    let house = House::empty();
    let told = |what: &str, next: &str| {
        let ran = house.unseen(&["report", "-o", "out.json"]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(3), ""), "{}", ran.err);
        assert!(ran.err.contains(what) && ran.err.contains(next), "{}", ran.err);
        assert!(!house.path("out.json").exists());
    };
    told("there is no store at .unseen", "unseen run --");
    fs::create_dir(house.path(".unseen")).unwrap();
    told("has no runs", "unseen run --");
    fs::write(house.path(".unseen/store.json"), r#"{"version":2}"#).unwrap();
    told("has version 2, this build of Unseen reads up to 1", "--dir");
    fs::write(house.path(".unseen/store.json"), "nonsense").unwrap();
    told("is not a store", "--dir");
    fs::write(house.path(".unseen/store.json"), r#"{"version":1}"#).unwrap();
    fs::create_dir_all(house.path(".unseen/runs/empty")).unwrap();
    told("no instrumented program left a record", "unseen run --");
    told("no instrumented program left a record", "the store may have been full or not writable");
    fs::write(house.path(".unseen/runs/empty/x.cov"), "nonsense").unwrap();
    told("nothing in these runs can be used", "remove what is damaged, and record again with `unseen run --");
    assert!(!house.unseen(&["report"]).err.contains("build with unseen-clang"));
}

#[test]
fn a_report_that_cannot_be_written_leaves_nothing_behind() {
    let house = House::new();
    let formats = ["text", "json", "lcov", "cobertura", "html"];
    for format in formats {
        let ran = house.unseen(&["report", "--format", format, "-o", "/dev/full"]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(3), ""), "{format}: {}", ran.err);
        assert!(ran.err.contains("cannot write /dev/full: No space left on device"), "{format}: {}", ran.err);
        let ran = house.unseen(&["report", "--format", format, "-o", "missing/directory/x"]);
        assert_eq!(ran.code, Some(3), "{format}");
        assert!(!house.path("missing").exists());
        house.unseen(&["report", "--format", format, "-o", "report.out"]).fine();
    }
    let left: Vec<_> = fs::read_dir(house.path("")).unwrap().map(|e| e.unwrap().file_name()).collect();
    let names: Vec<_> = left.iter().filter(|n| n.to_string_lossy().starts_with(".unseen-")).collect();
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    use std::process::Stdio;
    let house = House::new();
    let mut child = house
        .command()
        .args(["report", "--format", "html"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn binaries_without_a_usable_manifest_are_told_apart() {
    let house = House::new();
    let told = |binary: &str, what: &str| {
        let ran = house.unseen(&["manifest", binary]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(3), ""), "{binary}: {}", ran.err);
        assert!(ran.err.contains(what), "{binary}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 2, "what happened, and what to do: {}", ran.err);
    };
    told("fast_copy.o", "has no Unseen manifest");
    told("src/shape.c", "is not an ELF executable or shared object");
    told("src", "is not an ELF executable or shared object");
    told("nothing", "cannot be read: No such file");
    let bytes = fs::read(house.path("bin/shape")).unwrap();
    let magic = bytes.windows(8).position(|w| w == unseen_abi::manifest::FORM.magic).unwrap();
    let mut newer = bytes.clone();
    newer[magic + 8] = 9;
    fs::write(house.path("newer"), &newer).unwrap();
    told("newer", "manifest of version 9, this build of Unseen reads up to 1");
    let mut damaged = bytes.clone();
    damaged[magic + 40..magic + 80].fill(0xff);
    fs::write(house.path("damaged"), &damaged).unwrap();
    told("damaged", "damaged manifest");
    for cut in (0..bytes.len()).step_by(97) {
        fs::write(house.path("cut"), &bytes[..cut]).unwrap();
        let code = house.unseen(&["manifest", "cut"]).code;
        assert!(matches!(code, Some(0 | 3)), "cut {cut}: {code:?}");
    }
}

#[test]
fn wrong_calls_name_the_nearest_right_one() {
    let house = House::new();
    let told = |args: &[&str], what: &str| {
        let ran = house.unseen(args);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
        assert!(ran.err.contains(what), "{}", ran.err);
    };
    told(&["report", "--run", "20260101T000000.000000Z-9"], "the nearest name is 20260101T000000.000000Z-1");
    told(&["report", "--include", "["], "is not a pattern");
    told(&["report", "--lines", "nosuch.c"], "no recorded source file is called \"nosuch.c\"");
    told(&["report", "--format", "json", "--functions"], "for the text report");
    told(&["report", "--run", "x", "--last"], "cannot be used with");
    told(&["run", "--name", "../x", "--", "true"], "cannot name a run");
}
