//! States that tests have seen, carried from store to store: what was imported is not tested again, all else is, and nothing that a store
//! knew is lost.

mod toolbox;

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use toolbox::{Place, Ran, root};
use unseen_abi::seen::exported::States;
use unseen_abi::seen::{Narrow, Wide};

/// The program with two units, each of which meets one state for each number that it is given.
fn build(place: &Place) {
    build_of(place, "steps.c", "program");
}

fn build_of(place: &Place, source: &str, name: &str) {
    let source = root().join("testdata/programs/c/vivo").join(source);
    place.run(&format!("unseen-clang -w -g -O2 --unseen=state,cover {} -o {name}", source.display())).fine();
}

/// How many states were new to the tests of `half` and of `sum` when the program ran with these numbers in that store.
fn unseen_in(place: &Place, store: &str, numbers: &str) -> [u64; 2] {
    let name = format!("run-{}", fs::read_dir(place.path(store).join("runs")).map_or(0, Iterator::count));
    let ran = place.run(&format!("unseen run --dir {store} --name {name} ./program {numbers}")).fine();
    assert_eq!(ran.stderr, "");
    unseen_of(place, store, &name)
}

fn unseen_of(place: &Place, store: &str, run: &str) -> [u64; 2] {
    let ran = place.run(&format!("unseen tests --dir {store} --run {run} --format json")).fine();
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    ["half", "sum"].map(|unit| {
        let all = found["tests"].as_array().unwrap();
        all.iter().find(|t| t["unit"] == unit).unwrap_or_else(|| panic!("no {unit} in {found}"))["unseen"]
            .as_u64()
            .unwrap()
    })
}

/// What `unseen seen stats` says of its only set.
fn stats(place: &Place, what: &str) -> Value {
    let ran = place.run(&format!("unseen seen stats {what} --format json")).fine();
    assert_eq!(ran.stderr, "");
    let mut found: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(found["sets"].as_array().unwrap().len(), 1, "{found}");
    found["sets"][0].take()
}

/// Waits until a store has so many states, of which so many wait: a test's state is put in just after the test has told of its end.
#[track_caller]
fn has(place: &Place, store: &str, states: u64, waiting: u64) -> Value {
    let begin = Instant::now();
    loop {
        let found = stats(place, &format!("--dir {store}"));
        if (&found["states"], &found["waiting"]) == (&states.into(), &waiting.into()) {
            return found;
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "not {states}, {waiting} waiting: {found}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The id of the program's build.
fn id(place: &Place, program: &str) -> String {
    let ran = place.run(&format!("unseen manifest --format json {program}")).fine();
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    found["modules"][0].as_str().unwrap_or_else(|| panic!("no id in {}", ran.stdout)).to_owned()
}

#[test]
fn what_was_imported_is_not_tested_again_and_all_else_is() {
    let place = Place::new();
    build(&place);
    assert_eq!(unseen_in(&place, "a", "1 2 3 2"), [3, 3]);
    has(&place, "a", 6, 0);
    let said = place.run("unseen seen export --dir a program -o a.seen").fine().stdout;
    assert_eq!(said, format!("build {}: 6 states\n", id(&place, "program")));

    // Into a store that knows nothing: the set is there at once.
    let said = place.run("unseen seen import --dir b a.seen").fine().stdout;
    assert!(said.ends_with(": 6 states, 6 of them new\n"), "{said}");
    has(&place, "b", 6, 0);
    assert_eq!(unseen_in(&place, "b", "2 3 4"), [1, 1]);
    // Without an import they are all new.
    assert_eq!(unseen_in(&place, "d", "2 3 4"), [3, 3]);

    // Into one that has its own: the next program takes them over.
    assert_eq!(unseen_in(&place, "c", "10 11 2"), [3, 3]);
    has(&place, "c", 6, 0);
    let said = place.run("unseen seen import --dir c --for program a.seen").fine().stdout;
    assert!(
        said.contains(": 6 states, 4 of them new; the next program of this build that starts takes them over"),
        "{said}"
    );
    has(&place, "c", 10, 4);
    place.run("unseen seen export --dir c program -o waiting.seen").fine();
    assert_eq!(unseen_in(&place, "c", "1 2 3 10 11 12"), [1, 1]);
    has(&place, "c", 12, 0);
    let mut names: Vec<_> = fs::read_dir(place.path("c/seen")).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    let id = id(&place, "program");
    assert_eq!(names, [id.as_str(), &format!("{id}-wide")]);
    // Nothing of it is new a second time.
    let said = place.run("unseen seen import --dir c a.seen waiting.seen").fine().stdout;
    assert!(said.ends_with(": 10 states, 0 of them new\n"), "{said}");
    assert!(!place.path(&format!("c/seen/{id}.import")).exists());
    assert_eq!(stats(&place, "waiting.seen")["states"], 10, "what waits is exported, too");
}

#[test]
fn a_program_that_runs_meanwhile_goes_on_and_knows_what_others_take_over() {
    let place = Place::new();
    build(&place);
    unseen_in(&place, "a", "1 2 3");
    has(&place, "a", 6, 0);
    place.run("unseen seen export --dir a program -o a.seen").fine();
    let mut live = place.command("unseen");
    live.args(["run", "--dir", "c", "--name", "live", "./program"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut live = live.spawn().unwrap();
    let (mut to, mut from) = (live.stdin.take().unwrap(), BufReader::new(live.stdout.take().unwrap()));
    let mut tell = |number: u32| {
        writeln!(to, "{number}").unwrap();
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        assert_eq!(line, format!("{} {}\n", number / 2, number + 1));
    };
    tell(10);
    has(&place, "c", 2, 0);
    let said = place.run("unseen seen import --dir c a.seen").fine().stdout;
    assert!(said.contains("takes them over"), "{said}");
    tell(11);
    has(&place, "c", 10, 6);
    // Nobody has taken it over yet.
    tell(3);
    has(&place, "c", 10, 6);
    assert_eq!(unseen_in(&place, "c", "20"), [1, 1]);
    has(&place, "c", 12, 0);
    tell(1);
    tell(20);
    tell(2);
    drop(to);
    assert!(live.wait().unwrap().success());
    // 10, 11 and 3 were new; 1, 2 and 20 it knew from others.
    assert_eq!(unseen_of(&place, "c", "live"), [3, 3]);
    has(&place, "c", 12, 0);
}

#[test]
fn merging_is_the_union_and_the_same_in_any_order() {
    let place = Place::new();
    build(&place);
    for (store, numbers, states) in [("a", "1 2 3", 6), ("b", "3 4", 4), ("c", "5", 2)] {
        unseen_in(&place, store, numbers);
        has(&place, store, states, 0);
        place.run(&format!("unseen seen export --dir {store} program -o {store}.seen")).fine();
    }
    let id = id(&place, "program");
    let merged = |files: &str| {
        place.run(&format!("unseen seen merge -o all.seen {files}")).fine();
        fs::read(place.path("all.seen")).unwrap()
    };
    let all = merged("a.seen b.seen c.seen");
    assert_eq!(States::decode(&all).unwrap().count(), 10);
    assert!(all == merged("c.seen b.seen a.seen a.seen"));
    assert!(all == merged(&format!("c.seen b/seen/{id} a.seen")), "a store's own files will do");
    assert!(all == merged(&format!("a.seen b/seen/{id} b/seen/{id}-wide c.seen all.seen")));
    assert!(all != merged(&format!("a.seen b/seen/{id}-wide c.seen")));
    assert!(merged("a.seen") == fs::read(place.path("a.seen")).unwrap());
    merged("a.seen b.seen c.seen");
    place.run("unseen seen import --dir d all.seen").fine();
    assert_eq!(unseen_in(&place, "d", "1 2 3 4 5 6"), [1, 1]);
}

#[test]
fn stats_name_tests_and_tell_what_sets_take() {
    let place = Place::new();
    build(&place);
    unseen_in(&place, "a", "1 2 3");
    let set = has(&place, "a", 6, 0);
    let tests: Vec<_> =
        set["tests"].as_array().unwrap().iter().map(|t| (&t["test"], &t["unit"], &t["states"])).collect();
    assert_eq!(
        tests,
        [
            (&"half_is_not_more".into(), &"half".into(), &3.into()),
            (&"sum_is_positive".into(), &"sum".into(), &3.into())
        ]
    );
    let tables = set["tables"].as_array().unwrap();
    let (bytes, lines) = (4096 + 16384 * 64, 16384);
    for (table, (width, room)) in tables.iter().zip([("narrow", 7), ("wide", 3)]) {
        assert_eq!((&table["width"], &table["bytes"], &table["lines"]), (&width.into(), &bytes.into(), &lines.into()));
        assert_eq!((&table["states"], &table["spilled"]), (&3.into(), &false.into()));
        assert_eq!(table["full"].as_f64().unwrap(), 300.0 / f64::from(lines * room));
    }
    assert_eq!(
        (&set["bytes"], set["bytes_per_state"].as_f64()),
        (&(2 * bytes).into(), Some(f64::from(2 * bytes) / 6.0))
    );

    place.run("unseen seen export --dir a program -o a.seen").fine();
    let text = place.run("unseen seen stats --dir a").fine().stdout;
    assert!(text.contains("half_is_not_more  half       3") && text.contains("0.1 %"), "{text}");
    // A file has no names, unless the program is named, too.
    let text = place.run("unseen seen stats a.seen").fine().stdout;
    assert!(text.contains("test 0") && text.contains("name the program"), "{text}");
    assert_eq!(stats(&place, "a.seen program")["tests"][1]["unit"], "sum");
    assert_eq!(stats(&place, "--dir a program")["states"], 6);
    build_of(&place, "cache.c", "other");
    place.run("unseen seen stats --dir a other").failed(3, &["has no states of these programs", "built again"]);
    place.run("unseen seen stats --dir none").failed(3, &["there is no store at none"]);
    fs::create_dir(place.path("empty")).unwrap();
    place.run("unseen seen stats --dir empty").failed(3, &["the store empty has no seen sets"]);
    place.write("text", "nothing");
    place.run("unseen seen stats text").failed(3, &["text is neither a program nor a seen set"]);
}

#[test]
fn what_cannot_be_used_is_named_and_changes_nothing() {
    let place = Place::new();
    build(&place);
    build_of(&place, "cache.c", "other");
    unseen_in(&place, "a", "1 2 3");
    has(&place, "a", 6, 0);
    place.run("unseen seen export --dir a program -o a.seen").fine();
    let (own, foreign) = (id(&place, "program"), id(&place, "other"));
    assert_ne!(own, foreign);
    let good = fs::read(place.path("a.seen")).unwrap();
    let bad = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        fs::write(place.path("bad.seen"), bytes).unwrap();
    };
    let refused = |code: i32, said: &[&str]| -> Ran {
        place.run("unseen seen merge -o out.seen a.seen bad.seen").failed(code, said);
        assert!(!place.path("out.seen").exists());
        let ran = place.run("unseen seen import --dir new --for program a.seen bad.seen").failed(code, said);
        assert!(!place.path("new").exists());
        ran
    };
    refused(3, &["cannot read bad.seen: No such file"]);
    bad(&|b| b.truncate(good.len() - 1));
    refused(3, &["bad.seen is cut short: it has", "copy it again"]);
    bad(&|b| b.truncate(9));
    refused(3, &["bad.seen is cut short: it has 9 of 64 bytes"]);
    bad(&|b| *b.last_mut().unwrap() ^= 1);
    refused(3, &["bad.seen is damaged"]);
    bad(&|b| b[8] = 9);
    refused(3, &["bad.seen is an exported seen set of version 9", "use the version of Unseen that wrote it"]);
    bad(&|b| b[12] = 77);
    refused(3, &["bad.seen is exported from a seen set of version 77"]);
    bad(&|b| b.fill(b'x'));
    refused(3, &["bad.seen is no seen set", "unseen seen export"]);
    // A raw one that is cut.
    let raw = fs::read(place.path(&format!("a/seen/{own}"))).unwrap();
    bad(&|b| *b = raw[..raw.len() / 2].to_vec());
    refused(3, &["bad.seen is a seen set that is cut short"]);
    // Of another build: both are named.
    let other = States::decode(&good).unwrap();
    let foreign_id = u128::from_str_radix(&foreign, 16).unwrap().to_be_bytes();
    let other = States::new(foreign_id, other.narrow().to_vec(), other.wide().to_vec());
    bad(&|b| *b = other.encode().0);
    refused(2, &[&format!("bad.seen is of build {foreign}, not of {own}"), "mean nothing to another"]);
    // A store may have sets of several builds.
    place.run("unseen seen import --dir several a.seen bad.seen").fine();
    place.run(&format!("unseen seen export --dir several --id {} -o one.seen", &foreign[..8])).fine();
    assert!(fs::read(place.path("one.seen")).unwrap() == fs::read(place.path("bad.seen")).unwrap());

    let export = |from: &str, code: i32, said: &[&str]| {
        place.run(&format!("unseen seen export {from} -o out.seen")).failed(code, said);
        assert!(!place.path("out.seen").exists());
    };
    export("--dir several --id f00f00f00f00", 2, &["no states of a build f00f00f00f00", &own, &foreign]);
    export("--dir several", 2, &["PROGRAM"]);
    export("--dir a other", 3, &[&format!("no states of other, build {foreign}"), &own, "built again"]);
    export("--dir a a.seen", 3, &["is not an ELF"]);
    export("--dir nowhere program", 3, &["there is no store at nowhere"]);
    place.run("unseen seen export --dir a program -o /dev/full").failed(3, &["cannot write /dev/full: No space left"]);
    place.run("unseen seen export --dir a program -o no/such/x").failed(3, &["cannot write no/such/x"]);

    // Sets of a store that programs refuse: nothing is left for them.
    let set = place.path(&format!("several/seen/{foreign}"));
    fs::write(&set, &raw).unwrap();
    fs::write(place.path("more.seen"), States::new(foreign_id, vec![Narrow { unit: 0, state: 99 }], vec![]).encode().0)
        .unwrap();
    let said = format!("seen/{foreign} is of build {own}, not of {foreign}");
    place.run("unseen seen import --dir several more.seen").failed(3, &[&said, "remove it"]);
    export(&format!("--dir several --id {foreign}"), 3, &[&said]);
    assert!(!place.path(&format!("several/seen/{foreign}.import")).exists());
    let ran = place.run("unseen seen stats --dir several").fine();
    assert!(ran.stderr.contains(&said) && ran.stdout.contains(&own), "{ran:?}");
    // Where nothing can be made.
    place.run("unseen seen import --dir /proc/no a.seen").failed(3, &["cannot write the store /proc/no"]);
    place.write("file", "");
    place.run("unseen seen import --dir file a.seen").failed(3, &[]);
}

#[test]
fn a_damaged_import_is_said_and_costs_nothing_else() {
    let place = Place::new();
    build(&place);
    unseen_in(&place, "c", "1");
    has(&place, "c", 2, 0);
    let id_bytes = u128::from_str_radix(&id(&place, "program"), 16).unwrap().to_be_bytes();
    let file = States::new(id_bytes, vec![Narrow { unit: 0, state: 2 }], vec![]).encode().0;
    fs::write(place.path("more.seen"), &file).unwrap();
    place.run("unseen seen import --dir c more.seen").fine();
    let imports = place.path(&format!("c/seen/{}.import", id(&place, "program")));
    let waiting = fs::read_dir(&imports).unwrap().next().unwrap().unwrap().path();
    fs::write(&waiting, &file[..file.len() - 1]).unwrap();
    let ran = place.run("unseen run --dir c --name torn ./program 1 2").fine();
    assert!(ran.stderr.contains("imported seen set: it is damaged"), "{}", ran.stderr);
    assert_eq!(unseen_of(&place, "c", "torn"), [1, 1]);
    assert!(waiting.exists());
    place.run("unseen seen stats --dir c").fine();
}

/// Many states of a build that nobody has.
fn many(states: u64) -> States {
    let narrow = (0..states).map(|i| Narrow { unit: 1, state: i.wrapping_mul(0x9e37_79b9_7f4a_7c15) }).collect();
    States::new([7; 16], narrow, (0..1000).map(|i| Wide { unit: 2, state: i << 70 }).collect())
}

#[test]
fn an_import_that_is_killed_leaves_a_store_that_works() {
    let place = Place::new();
    let (some, all) = (many(100_000), many(400_000));
    fs::write(place.path("some.seen"), some.encode().0).unwrap();
    fs::write(place.path("all.seen"), all.encode().0).unwrap();
    let states = |store: &str| stats(&place, &format!("--dir {store}"))["states"].as_u64().unwrap();
    let mut killed = 0;
    for (round, before) in [false, true].into_iter().cycle().take(16).enumerate() {
        let store = format!("store-{round}");
        if before {
            place.run(&format!("unseen seen import --dir {store} some.seen")).fine();
        }
        let mut import = place.command("unseen");
        import.args(["seen", "import", "--dir", &store, "all.seen"]).stdout(Stdio::null());
        let mut import = import.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(round as u64 * 12));
        import.kill().unwrap();
        killed += u32::from(import.wait().unwrap().code().is_none());
        if before {
            let count = states(&store);
            assert!(
                count == some.count() as u64 || count == all.count() as u64 - 1000 || count == all.count() as u64,
                "{count}"
            );
        }
        place.run(&format!("unseen seen import --dir {store} all.seen")).fine();
        assert_eq!(states(&store), all.count() as u64);
        fs::remove_dir_all(place.path(&store)).unwrap();
    }
    assert!(killed > 0, "none was killed in time");
}

#[test]
fn a_full_disk_is_said_and_what_was_there_stays() {
    let place = Place::new();
    fs::write(place.path("some.seen"), many(1000).encode().0).unwrap();
    fs::write(place.path("all.seen"), many(400_000).encode().0).unwrap();
    fs::create_dir(place.path("disk")).unwrap();
    let script = "mount -t tmpfs -o size=4m tmpfs disk; unseen seen import --dir disk/store some.seen; \
        unseen seen import --dir disk/store all.seen && exit 9; unseen seen stats --dir disk/store; \
        unseen seen import --dir disk/other all.seen && exit 9; find disk -type f | sort; exit 0";
    let mut command = place.command("unshare");
    let output = command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if err.contains("unshare:") || err.contains("mount:") {
        return eprintln!("skipped: {err}");
    }
    assert!(output.status.success(), "{out}{err}");
    assert_eq!(err.matches("No space left on device").count(), 2, "{err}");
    assert!(out.contains("2000 states"), "{out}");
    let left: Vec<_> =
        out.lines().filter(|l| l.starts_with("disk/")).map(|l| Path::new(l).file_name().unwrap()).collect();
    assert_eq!(
        left,
        ["store.json", "07070707070707070707070707070707", "07070707070707070707070707070707-wide", "store.json"]
    );
}
