//! `unseen verify`: what programs read is in the sets, what goes wrong is said, and what was found before is kept.

mod toolbox;

use serde_json::Value;
use toolbox::{Place, llvm, root};

/// Builds a program of `testdata/programs` with `access`.
fn build(place: &Place, compiler: &str, file: &str, flags: &str) {
    let file = root().join("testdata/programs").join(file);
    place.run(&format!("{compiler} -w -g --unseen=access {flags} {} -o program", file.display())).fine();
}

/// Verifies it; the findings.
fn verify(place: &Place, options: &str) -> Value {
    place.run(&format!("unseen verify --effort 100 {options} --format json --output found.json -- ./program")).fine();
    serde_json::from_str(&std::fs::read_to_string(place.path("found.json")).unwrap()).unwrap()
}

#[test]
fn real_sets_have_no_misses_at_any_level() {
    let place = Place::new();
    for (compiler, file, least) in
        [("unseen-clang", "c/access/walks.c", 14), ("unseen-clang++", "cpp/access/objects.cpp", 200)]
    {
        for level in ["-O0", "-O2"] {
            build(&place, compiler, file, level);
            let found = verify(&place, "");
            assert_eq!(found["misses"], Value::Array(Vec::new()), "{file} {level}");
            assert!(found["summary"]["checked"].as_u64().unwrap() >= least, "{file} {level}: {}", found["summary"]);
            assert_eq!(found["ending"], "exit 0");
        }
    }
}

#[test]
fn memory_is_known_whoever_allocated_it() {
    let place = Place::new();
    for level in ["-O0", "-O2"] {
        build(&place, "unseen-clang", "c/access/allocators.c", level);
        let found = verify(&place, "--unit scan");
        assert_eq!((&found["misses"], &found["summary"]["checked_calls"]), (&Value::Array(Vec::new()), &4.into()));
    }
}

#[test]
fn threads_and_children_are_checked_with_the_program() {
    let place = Place::new();
    place.write(
        "many.c",
        "#include <pthread.h>
         #include <sys/wait.h>
         #include <unistd.h>
         static int state = 1; __attribute__((noinline)) int look(int *p) { return state + *p; }
         static void *thread(void *p) { for (int i = 0; i < 5; i++) look(p); return 0; }
         int main(void) {
           int value = 1; pthread_t t[3];
           for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, thread, &value);
           for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
           if (!fork()) { look(&value); _exit(0); }
           wait(0);
           return 0;
         }",
    );
    place.run("unseen-clang -w -g -O1 --unseen=access many.c -o program").fine();
    let found = verify(&place, "--unit look");
    let look = found["units"].as_array().unwrap().iter().find(|u| u["name"] == "look").unwrap();
    assert_eq!(found["misses"], Value::Array(Vec::new()));
    // Threads that count at once may lose a call.
    assert!((10..=16).contains(&look["checked"].as_u64().unwrap()), "{look}");
}

#[test]
fn little_effort_still_lets_the_program_end() {
    let place = Place::new();
    build(&place, "unseen-clang", "c/access/walks.c", "-O2");
    place.run("unseen verify --effort 0 --calls 1 --budget 1 -- ./program").fine();
}

#[test]
fn rusts_library_is_checked_with_the_program() {
    let place = Place::new();
    let file = root().join("testdata/programs/rust/access/library.rs");
    let line = format!("unseen-rustc -g -Copt-level=1 {} -o program", file.display());
    place.run_with(&line, &[("UNSEEN_BUILD", "access")]).fine();
    let found = verify(&place, "");
    assert_eq!(found["misses"], Value::Array(Vec::new()));
    assert!(found["summary"]["checked"].as_u64().unwrap() >= 200, "{}", found["summary"]);
}

#[test]
fn only_the_units_that_were_asked_for_are_checked() {
    let place = Place::new();
    build(&place, "unseen-clang", "c/access/walks.c", "-O1");
    let found = verify(&place, "--unit sum_list --unit cell");
    let checked: Vec<&str> = found["units"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|u| u["checked"].as_u64().unwrap() > 0)
        .map(|u| u["name"].as_str().unwrap())
        .collect();
    assert_eq!(checked, ["cell", "sum_list"]);
    place.run("unseen verify --unit sum_lst -- ./program").failed(2, &["no function is called 'sum_lst'", "sum_list"]);
}

#[test]
fn the_programs_output_and_the_findings_do_not_mix() {
    let place = Place::new();
    build(&place, "unseen-clang", "c/access/walks.c", "-O1");
    let ran = place.run("unseen verify -v -- ./program").fine();
    assert_eq!(ran.stdout, "603\n");
    assert!(ran.stderr.contains("sum_list: 2 calls, 2 checked, 252 of 252 bytes read"), "{}", ran.stderr);
    assert!(ran.stderr.contains("0 misses; the program ended with exit 0"), "{}", ran.stderr);
}

#[test]
fn what_was_found_before_a_crash_or_a_hang_is_kept() {
    let place = Place::new();
    place.write(
        "ends.c",
        "static int state = 1; int look(void) { return state; }
         int main(int argc, char **argv) {
           look();
           if (argc > 1) for (volatile int i = 1; i;) {}
           *(volatile int *)8 = look();
         }",
    );
    place.run("unseen-clang -w -g --unseen=access ends.c -o program").fine();
    let found = verify(&place, "");
    assert_eq!((&found["ending"], &found["summary"]["checked_calls"]), (&"signal 11".into(), &2.into()));
    place.run("unseen verify --timeout 1 --format json --output found.json -- ./program hang").fine();
    let found: Value = serde_json::from_str(&std::fs::read_to_string(place.path("found.json")).unwrap()).unwrap();
    assert_eq!(
        (&found["ending"], &found["summary"]["checked_calls"]),
        (&"signal 9, killed after 1 s".into(), &1.into())
    );
}

#[test]
fn programs_that_can_not_be_verified_say_why() {
    let place = Place::new();
    place.write("plain.c", "int main(void) { return 3; }");
    place.run("unseen-clang --unseen=cover plain.c -o program").fine();
    place.run("unseen verify -- ./program").failed(3, &["built without the mechanism `access`", "--unseen=access"]);
    place.run("unseen verify -- ./missing").failed(3, &["cannot run ./missing"]);
    place.run("unseen-clang --unseen=access plain.c -o program").fine();
    // Ours and GNU's leave the sets.
    place.run(&format!("{} program", llvm("llvm-strip").display())).fine();
    place
        .run("unseen verify -- ./program")
        .failed(3, &["its dependency sets are no longer in it", "before it is stripped"]);
}
