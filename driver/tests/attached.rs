//! Tests that are attached to functions: they run inside the program, in states that no test has seen, and nothing of it reaches
//! the program.

mod toolbox;

use serde_json::Value;
use toolbox::{Place, root};

/// Builds a program of `testdata/programs`.
fn build(place: &Place, compiler: &str, file: &str, flags: &str) {
    let file = root().join("testdata/programs").join(file);
    place.run(&format!("{compiler} -w -g --unseen=state,cover {flags} {} -o program", file.display())).fine();
}

/// What `unseen tests` says of the last run.
fn tests(place: &Place) -> Value {
    let ran = place.run("unseen tests --last --format json");
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

/// The counts of a test.
fn counts<const N: usize>(found: &Value, test: &str, keys: [&str; N]) -> [u64; N] {
    let all = found["tests"].as_array().unwrap();
    let is_it =
        |t: &&Value| t["test"].as_str().unwrap().split('(').next().unwrap().rsplit("::").next().unwrap() == test;
    let one = all.iter().find(is_it).unwrap_or_else(|| panic!("no test {test} in {found}"));
    keys.map(|key| one[key].as_u64().unwrap())
}

const ENDS: [&str; 5] = ["passed", "failed", "crashed", "late", "hindered"];

#[test]
fn a_bug_is_found_in_the_run_that_meets_its_state_and_states_are_tested_once() {
    let place = Place::new();
    for level in ["-O0", "-O2"] {
        place.shell("rm -rf .unseen").fine();
        build(&place, "unseen-clang", "c/vivo/cache.c", level);
        assert_eq!(place.run("unseen run ./program").fine().stdout, "519\n");
        let found = tests(&place);
        assert_eq!(counts(&found, "lookup_agrees", ["calls", "unseen", "untold", "passed", "failed"]), [8, 8, 0, 6, 2]);
        // A list is the same wherever its nodes lie.
        assert_eq!(counts(&found, "sum_is_positive", ["calls", "unseen", "untold", "passed"]), [100, 3, 0, 3]);
        let failures = found["failures"].as_array().unwrap();
        assert_eq!(failures.iter().map(|f| f["outcome"].as_str().unwrap()).collect::<Vec<_>>(), ["fail", "fail"]);
        assert_ne!(failures[0]["id"], failures[1]["id"], "two states");
        // Another process, with other addresses.
        assert_eq!(place.run("unseen run ./program").fine().stdout, "519\n");
        let again = tests(&place);
        assert_eq!(counts(&again, "lookup_agrees", ["calls", "unseen"]), [8, 0]);
        assert_eq!(counts(&again, "sum_is_positive", ["calls", "unseen"]), [100, 0]);
        place.run("unseen tests").failed(1, &[]);
        place.run("unseen tests --last").fine();
    }
}

#[test]
fn tests_bring_along_what_they_need_unless_somebody_chose() {
    let place = Place::new();
    let file = root().join("testdata/programs/c/vivo/cache.c");
    let build = |flags: &str| {
        let built = place.run(&format!("unseen-clang -w -g {flags} {} -o program", file.display()));
        built.fine().stderr.clone()
    };
    assert_eq!(build("-O2"), "");
    place.run("unseen run ./program").fine();
    assert_eq!(counts(&tests(&place), "lookup_agrees", ["calls", "unseen"]), [8, 8]);
    assert!(build("--unseen=cover").contains("tests are attached, but this is built without `state`: they never run"));
    let built = place.shell(&format!("UNSEEN_LTO=off unseen-clang -w -g {} -o program", file.display()));
    assert!(built.fine().stderr.contains("built without link-time optimisation: they never run"));
    place.run("unseen units program").failed(3, &["no units with tests", "build it again"]);
}

#[test]
fn states_can_be_kept_whole() {
    let place = Place::new();
    build(&place, "unseen-clang", "c/vivo/cache.c", "-O2");
    let exact = [("UNSEEN_EXACT", "on")];
    let sum = |keys: [&str; 3]| counts(&tests(&place), "sum_is_positive", keys);
    let run = |env: &[(&str, &str)]| {
        let ran = place.run_with("unseen run ./program", env).fine();
        assert_eq!(ran.stdout, "519\n");
        ran.stderr
    };
    for unseen in [3, 0] {
        run(&exact);
        assert_eq!(sum(["calls", "unseen", "untold"]), [100, unseen, 0]);
    }
    // The other set is not that of hashes, and nobody takes it for one.
    run(&[]);
    assert_eq!(sum(["calls", "unseen", "untold"]), [100, 3, 0]);
    assert_eq!(place.run("unseen seen stats").fine().stdout.matches("build ").count(), 1);
    // Numbers of another file are not taken for these.
    place.shell("rm .unseen/seen/*-whole").fine();
    run(&exact);
    assert_eq!(sum(["calls", "unseen", "untold"]), [100, 3, 0]);
    // Without its file whole states have no names: hashes won't do.
    place.shell("for file in .unseen/seen/*-whole; do echo garbage > $file; done").fine();
    let said = run(&exact);
    assert!(said.contains("whole states: it is something else"), "{said}");
    assert_eq!(sum(["calls", "unseen", "untold"]), [100, 0, 100]);
}

#[test]
fn where_pointers_lead_is_part_of_the_state() {
    let place = Place::new();
    for level in ["-O0", "-O2"] {
        place.shell("rm -rf .unseen").fine();
        build(&place, "unseen-clang", "c/vivo/alias.c", level);
        assert_eq!(place.run("unseen run ./program").fine().stdout, "15\n");
        let found = tests(&place);
        assert_eq!(counts(&found, "bump_is_small", ["calls", "unseen", "passed", "failed"]), [2, 2, 1, 1]);
        assert_eq!(counts(&found, "fill_is_small", ["calls", "unseen", "passed", "failed"]), [6, 4, 3, 1]);
    }
}

#[test]
fn policies_choose_when_tests_run() {
    let place = Place::new();
    build(&place, "unseen-clang", "c/vivo/cache.c", "-O2");
    for (policy, ran) in [("never", None), ("always", Some([8, 100]))] {
        place.run_with("unseen run ./program", &[("UNSEEN_POLICY", policy)]).fine();
        let found = tests(&place);
        let Some(ran) = ran else {
            assert_eq!(found["summary"]["calls"], 0);
            continue;
        };
        let sum = |test| counts(&found, test, ENDS).iter().sum::<u64>();
        assert_eq!([sum("lookup_agrees"), sum("sum_is_positive")], ran, "{found}");
    }
    // Without a store nothing is done at all.
    assert_eq!(place.run("./program").fine().stdout, "519\n");
    assert_eq!(place.run_with("./program", &[("UNSEEN_DIR", "other"), ("UNSEEN", "off")]).fine().stdout, "519\n");
    assert!(!place.path("other").exists());
}

#[test]
fn tests_run_after_units_units_are_compared_with_themselves_and_some_are_rescued() {
    let place = Place::new();
    for level in ["-O0", "-O2"] {
        place.shell("rm -rf .unseen").fine();
        build(&place, "unseen-clang", "c/vivo/kinds.c", level);
        assert_eq!(place.run("unseen run ./program").fine().stdout, "424 4\n");
        let found = tests(&place);
        for (test, wanted) in [
            ("clip_is_small", [12, 4, 0, 4, 0]),
            // What the unit has left behind is seen.
            ("clip_keeps_the_limit", [12, 4, 0, 3, 1]),
            ("add_adds", [4, 4, 0, 3, 1]),
            ("square", [3, 2, 0, 2, 0]),
            ("next", [2, 2, 0, 2, 0]),
            // By the result, and by what is written.
            ("now", [1, 0, 1, 0, 1]),
            ("stamp", [1, 0, 1, 0, 1]),
            ("note", [3, 0, 0, 0, 0]),
        ] {
            assert_eq!(
                counts(&found, test, ["calls", "unseen", "untold", "passed", "failed"]),
                wanted,
                "{test}: {found}"
            );
        }
        let failures = found["failures"].as_array().unwrap();
        let now = failures.iter().find(|f| f["unit"] == "now").unwrap_or_else(|| panic!("{found}"));
        let callers = now["stack"]["callers"].as_array().unwrap_or_else(|| panic!("{now}"));
        assert!(callers.iter().any(|frame| frame["function"] == "main"), "{now}");
        assert_eq!(counts(&found, "make_counts", ["calls", "passed", "failed"]), [4, 3, 1], "{found}");
        assert_eq!(counts(&found, "fill", ["calls", "passed", "failed"]), [1, 1, 0], "{found}");
        // Only what was not seen is strange, and only to a program that is watched.
        let watch = [("UNSEEN_POLICY", "watch")];
        assert_eq!(place.run_with("unseen run ./program 3", &watch).fine().stdout, "424 4\n");
        let ran = place.run_with("unseen run ./program 5", &watch).fine();
        assert_eq!(ran.stdout, "strange: 3\nstrange: 4\n631 4\n");
        let found = tests(&place);
        assert_eq!(found["summary"]["ran"], 0, "{found}");
        assert_eq!(counts(&found, "note", ["calls", "unseen"]), [5, 0], "{found}");
    }
}

#[test]
fn functions_are_watched_without_a_test() {
    let place = Place::new();
    place.write(
        "watched.c",
        "#include <stdlib.h>\n#include <time.h>\n#define UNIT __attribute__((noinline)) static\nstruct s { int a, b; };\n\
         UNIT int twice(int n) { return 2 * n; }\nUNIT int sum(const struct s *s) { return s->a + s->b; }\n\
         UNIT long now(void) { return time(0); }\nUNIT int other(int n) { return n; }\n\
         int main(int argc, char **argv) { int r = 0; for (int i = 0; i < atoi(argv[1]); i++) {\n\
         struct s s = {i, i % 2}; r += twice(i) + sum(&s) + (now() < 0) + other(i); } return r < 0; }\n",
    );
    let build = "unseen-clang -g -O2 --unseen=state,cover watched.c -o program";
    place.run_with(build, &[("UNSEEN_WATCH", "tw*,sum,now")]).fine();
    // What reads the clock is in no state that could be told.
    let units = place.run("unseen units program").fine().stdout;
    assert_eq!(units.lines().collect::<std::collections::BTreeSet<_>>(), ["sum: watched", "twice: watched"].into());
    place.run("unseen run ./program 5").fine();
    let watch = [("UNSEEN_POLICY", "watch")];
    for (rounds, strange) in [("5", 0), ("7", 2), ("7", 2)] {
        place.run_with(&format!("unseen run ./program {rounds}"), &watch).fine();
        let found = tests(&place);
        for unit in ["twice", "sum"] {
            assert_eq!(counts(&found, unit, ["strange", "rescued"]), [strange, 0], "{found}");
        }
    }
    place.run_with(build, &[("UNSEEN_WATCH", "{")]).failed(2, &["UNSEEN_WATCH: bad pattern `{`"]);
}

/// The lines stay the same, and so does all that reports tell of the code; but it is other code.
#[test]
fn other_code_is_tested_again_and_the_same_is_not() {
    let place = Place::new();
    let ran = |divisor: u32| {
        place.write(
            "half.c",
            &format!(
                "#include <unseen.h>\n__attribute__((noinline)) int half(int n) {{ return n / {divisor}; }}\n\
                 static int half_is_small(int n) {{ return half(n) * 2 <= n; }}\nUNSEEN_TEST(half, half_is_small)\n\
                 int main(void) {{ return half(8) + half(8) == 0; }}\n"
            ),
        );
        place.run("unseen-clang -g -O1 --unseen=state,cover half.c -o program").fine();
        place.run("unseen run ./program").fine();
        counts(&tests(&place), "half_is_small", ["passed", "failed"])
    };
    assert_eq!(ran(2), [1, 0]);
    assert_eq!(ran(2), [0, 0]);
    assert_eq!(ran(1), [0, 1]);
    assert_eq!(ran(3), [1, 0]);
    assert_eq!(ran(2), [0, 0]);
}

#[test]
fn small_states_of_all_shapes_are_tested_once_each() {
    let place = Place::new();
    for level in ["-O0", "-O2"] {
        place.shell("rm -rf .unseen").fine();
        build(&place, "unseen-clang", "c/vivo/keys.c", level);
        let plain = place.run("./program").fine().stdout;
        for (round, due) in [(0, true), (1, false)] {
            assert_eq!(place.run("unseen run ./program").fine().stdout, plain);
            let found = tests(&place);
            for (test, states) in
                [("narrow", 10), ("flat", 10), ("two", 10), ("both", 10), ("outer", 10), ("odd", 10), ("real", 4)]
            {
                let wanted = [3000, if due { states } else { 0 }, 0, if due { states } else { 0 }];
                let name = format!("{test}_is_fine");
                assert_eq!(counts(&found, &name, ["calls", "unseen", "untold", "passed"]), wanted, "{round} {found}");
            }
        }
    }
}

#[test]
fn units_samples_and_a_budget_say_what_is_tested() {
    let place = Place::new();
    build(&place, "unseen-clang", "c/vivo/keys.c", "-O2");
    let run = |variables: &[(&str, &str)]| {
        place.shell("rm -rf .unseen").fine();
        place.run_with("unseen run ./program", variables).fine();
        tests(&place)
    };
    let found = run(&[("UNSEEN_UNITS", "n?rrow, o*, !odd")]);
    for (test, wanted) in [("narrow", [3000, 10]), ("outer", [3000, 10]), ("odd", [0, 0]), ("flat", [0, 0])] {
        assert_eq!(counts(&found, &format!("{test}_is_fine"), ["calls", "passed"]), wanted, "{found}");
    }
    // Of two that are due one is tested; the others are due again at the next call.
    let found = run(&[("UNSEEN_SAMPLE", "2"), ("UNSEEN_UNITS", "narrow")]);
    let [passed, spared] = counts(&found, "narrow_is_fine", ["passed", "spared"]);
    assert!(passed == 10 && (1..1000).contains(&spared), "{found}");
    // The program is over before a test would be a thousandth of it.
    let found = run(&[("UNSEEN_BUDGET", "0.1%")]);
    let [ran, calls] = [&found["summary"]["ran"], &found["summary"]["calls"]].map(|n| n.as_u64().unwrap());
    assert!(ran < 3 && calls < 21000, "{found}");
    let spared: u64 = found["tests"].as_array().unwrap().iter().map(|t| t["spared"].as_u64().unwrap()).sum();
    assert!(spared > 0, "{found}");
    // All the time there is.
    let found = run(&[("UNSEEN_BUDGET", "100000%")]);
    assert_eq!(found["summary"]["ran"], 64, "{found}");
}

#[test]
fn tests_end_in_all_ways_and_the_program_knows_nothing_of_it() {
    let place = Place::new();
    build(&place, "unseen-clang", "c/vivo/ends.c", "-O1");
    let plain = place.run("./program").fine().stdout;
    assert_eq!(plain, "6 2 0 -1\n");
    let ran = place.run_with("unseen run ./program", &[("UNSEEN_TEST_SECONDS", "1")]).fine();
    assert_eq!(ran.stdout, plain);
    assert!(!place.path("made-by-test").exists());
    let found = tests(&place);
    for (test, ends) in [
        ("passes", [2, 0, 0, 0, 0]),
        ("fails", [0, 2, 0, 0, 0]),
        ("asserts", [0, 2, 0, 0, 0]),
        ("crashes", [0, 0, 2, 0, 0]),
        ("exits", [0, 2, 0, 0, 0]),
        ("hangs", [0, 0, 0, 2, 0]),
        ("talks", [0, 0, 0, 0, 2]),
        ("forks", [0, 0, 0, 0, 2]),
        ("writes", [0, 0, 0, 0, 2]),
        ("clobbers", [2, 0, 0, 0, 0]),
    ] {
        assert_eq!(counts(&found, test, ENDS), ends, "{test}: {found}");
    }
    let failure = |test: &str| {
        let all = found["failures"].as_array().unwrap();
        all.iter().find(|f| f["test"].as_str().unwrap() == test).unwrap_or_else(|| panic!("no {test} in {found}"))
    };
    assert!(failure("asserts")["output"].as_str().unwrap().contains("Assertion `a < 0' failed"), "{found}");
    assert_eq!(failure("crashes")["details"], "signal 11 at 0x9");
    assert_eq!(failure("exits")["details"], "exited with 4");
    assert_eq!(failure("talks")["details"], "asked for socket");
}

#[test]
fn a_test_that_needs_more_memory_than_its_set_gets_it_the_next_time() {
    let place = Place::new();
    build(&place, "unseen-clang", "c/vivo/large.c", "-O1");
    assert_eq!(place.run("unseen run ./program").fine().stdout, "37\n");
    let found = tests(&place);
    assert_eq!(counts(&found, "is_small", ENDS), [3, 1, 0, 0, 0], "{found}");
    // The first is a miss, the second has all memory, and then it is known what it needs.
    assert_eq!(counts(&found, "is_copied", ENDS), [4, 0, 0, 0, 1], "{found}");
    let all = found["failures"].as_array().unwrap();
    let misses: Vec<_> = all.iter().filter(|f| f["test"] == "is_copied").collect();
    assert_eq!(misses.len(), 1, "{found}");
    assert!(misses[0]["details"].as_str().unwrap().starts_with("touched memory outside its set, at 0x"), "{found}");
}

#[test]
fn methods_overloads_and_templates_have_tests() {
    let place = Place::new();
    build(&place, "unseen-clang++", "cpp/vivo/cart.cpp", "-O2");
    let plain = place.run("./program").fine().stdout;
    assert_eq!(place.run("unseen run ./program").fine().stdout, plain);
    let found = tests(&place);
    assert_eq!(counts(&found, "total_grows", ["calls", "failed", "passed"]), [5, 1, 4]);
    assert_eq!(counts(&found, "mean_is_small", ["calls", "failed", "passed"]), [5, 1, 4]);
    assert_eq!(counts(&found, "rate_is_even", ["calls", "passed"]), [5, 5]);
    assert_eq!(counts(&found, "largest_is_one_of_them", ["calls", "passed"]), [1, 1]);
}

#[test]
fn rust_functions_and_methods_have_tests() {
    let place = Place::new();
    let source = std::fs::read_to_string(root().join("testdata/programs/rust/vivo/queue.rs")).unwrap();
    place.write("src/main.rs", &source);
    let api = root().join("runtime/api");
    let manifest = "[package]\nname = 'queue'\nversion = '0.1.0'\nedition = '2024'\n[profile.release]\ndebug = true\n";
    place.write("Cargo.toml", &format!("{manifest}[dependencies]\nunseen = {{ path = '{}' }}\n", api.display()));
    for profile in ["", "--release"] {
        place.shell("rm -rf .unseen").fine();
        let plain = place.run(&format!("cargo run --quiet --offline {profile}")).fine().stdout;
        let line = format!("cargo unseen run --quiet --offline {profile}");
        assert_eq!(place.run_with(&line, &[("UNSEEN_BUILD", "state,cover")]).fine().stdout, plain);
        let found = tests(&place);
        let [calls, failed] = counts(&found, "what_is_pushed_is_popped", ["calls", "failed"]);
        assert!(calls == 6 && failed > 0, "{profile}: {found}");
        assert!(found["failures"][0]["output"].as_str().unwrap().contains("pushed behind"), "{found}");
        assert_eq!(counts(&found, "double_is_even", ["calls", "unseen", "passed"]), [6, 3, 3]);
        assert_eq!(counts(&found, "double", ["calls", "unseen", "passed"]), [6, 3, 3]);
        assert_eq!(counts(&found, "what_is_popped_was_small", ["calls", "passed"]), [2, 2]);
    }
}

#[test]
fn what_does_not_fit_is_an_error_that_shows_both() {
    let place = Place::new();
    let compile = |text: &str| {
        place.write("bad.c", &format!("#include <unseen.h>\nint unit(int a, char *b) {{ return a; }}\n{text}\nint main(void) {{ return unit(0, 0); }}"));
        place.run("unseen-clang --unseen=state,cover bad.c -o bad")
    };
    compile("static int test(long a, char *b) { return 1; }\nUNSEEN_TEST(unit, test)")
        .failed(1, &["a test does not fit its unit", "unit: (i32, ptr) -> i32", "test: (i64, ptr) -> i32"]);
    compile("static double test(int a, char *b) { return 1; }\nUNSEEN_TEST(unit, test)").failed(1, &["-> double"]);
    compile("static int test(int a, char *b) { return 1; }\nUNSEEN_TEST_NAMED(\"unti\", test)")
        .failed(1, &["the test 'test' is attached to 'unti', which is not in the program"]);
    compile("int printf(const char *, ...);\nstatic int test(const char *b) { return 1; }\nUNSEEN_TEST(printf, test)")
        .failed(1, &["'printf', which is not in the program"]);
    assert!(!place.path("bad").exists());
    compile("static int test(int a, char *b) { return 1; }\nUNSEEN_TEST(unit, test)").fine();
    assert_eq!(place.run("unseen units bad").fine().stdout, "unit: test\n");
    // A test that runs after the unit takes one more.
    compile("static int test(int a, char *b) { return 1; }\nUNSEEN_TEST_AFTER(unit, test)")
        .failed(1, &["takes what the unit takes and then what it returned", "test: (i32, ptr) -> i32"]);
    compile("static int test(int a, char *b, long r) { return 1; }\nUNSEEN_TEST_AFTER(unit, test)")
        .failed(1, &[", i64)"]);
    compile("static int test(int a, char *b, int r) { return 1; }\nUNSEEN_TEST_AFTER_NAMED(\"unit\", test)\nUNSEEN_DETERMINISTIC(unit)\nUNSEEN_RESCUE(unit, unit)").fine();
    assert_eq!(place.run("unseen units bad").fine().stdout, "unit: test (after), twice, unit (rescue)\n");
    compile("int printf(const char *, ...);\nUNSEEN_DETERMINISTIC(printf)")
        .failed(1, &["'printf', which is not in the program"]);
    compile("static int test(int a, char *b) { return 1; }\nUNSEEN_TEST(unit, test)").fine();
    // With any other mechanism they do nothing, and that is said; with any other compiler there is nothing to say.
    let ran = place.run("unseen-clang --unseen=cover bad.c -o bad").fine();
    assert!(ran.stderr.contains("built without `state`"), "{}", ran.stderr);
    place.run("unseen units bad").failed(3, &["has no units with tests"]);
    place.run("unseen tests").failed(3, &[]);
}
