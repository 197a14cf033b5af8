//! Installed tools work from where they are; the demo shows the main job.

mod toolbox;

use toolbox::Place;

#[test]
fn an_installed_tree_works() {
    let place = Place::new();
    place.run("unseen install --prefix tree").fine();
    // Again, over itself.
    place.run("unseen install --prefix tree").fine();
    for file in [
        "lib/unseen/libunseen_pass.so",
        "lib/unseen/libunseen_rt.a",
        "lib/unseen/libunseen_malloc.so",
        "include/unseen.h",
        "share/unseen/unseen.cmake",
    ] {
        assert!(place.path("tree").join(file).exists(), "{file}");
    }
    place.write("m.c", "#include <unseen.h>\nint main(void) { return 0; }\n");
    place.write("m.rs", "fn main() {}\n");
    let log = place.run_with("tree/bin/unseen-clang m.c -o c", &[("UNSEEN_LOG", "on")]).fine().stderr;
    assert!(log.contains("tree/lib/unseen/libunseen_pass.so"), "{log}");
    place.run("tree/bin/unseen-rustc m.rs -o r").fine();
    for program in ["c", "r"] {
        place.run(&format!("./{program}")).fine();
        assert!(place.instrumented(program));
    }
    place.run("tree/bin/unseen doctor").fine();
    place.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.16)\nproject(x C)\nadd_executable(x m.c)\n");
    place.shell("cmake -B b -DCMAKE_TOOLCHAIN_FILE=$PWD/tree/share/unseen/unseen.cmake && cmake --build b").fine();
    assert!(place.instrumented("b/x"));
    place.run("unseen install --prefix /proc/none").failed(3, &["unseen: error: can't copy", "choose a prefix"]);
    place.run("unseen install").failed(2, &["--prefix"]);
}

#[test]
fn the_demo_shows_coverage_of_three_programs_and_tests_inside_another() {
    let place = Place::new();
    let out = place.run("unseen demo --dir demo").fine().stdout;
    for file in ["calc.c", "bank.cpp", "words/hash.c", "words/src/main.rs"] {
        let line = out.lines().find(|l| l.starts_with(&format!("{file} "))).unwrap_or_else(|| panic!("{file}:\n{out}"));
        assert!(line.contains('%'), "{line}");
    }
    assert!(out.contains("asking_again_gives_the_same") && out.contains("square(5) is 25, then 0"), "{out}");
    // A line for each share of distinct states, three times each.
    let rows: Vec<Vec<f64>> = out
        .lines()
        .filter_map(|line| line.trim_start().split_once(" %").map(|(_, rest)| rest))
        .filter_map(|rest| rest.split_whitespace().map(|word| word.parse().ok()).collect())
        .filter(|row: &Vec<f64>| row.len() == 3)
        .collect();
    assert_eq!(rows.len(), 11, "{out}");
    assert!(std::fs::read_to_string(place.path("demo/sieve.svg")).unwrap().matches("<polyline").count() == 3);
    for (kind, file) in [("HTML", "demo/coverage.html"), ("LCOV", "demo/coverage.lcov")] {
        let path = place.path(file);
        assert!(out.contains(&format!("{kind}: {}", path.display())), "{out}");
        assert!(path.metadata().unwrap().len() > 100);
    }
}

#[test]
fn options_are_listed() {
    let place = Place::new();
    let text = place.run("unseen options").fine().stdout;
    assert!(text.contains("UNSEEN_DIR=a directory"), "{text}");
    let json = place.run("unseen options --format json").fine().stdout;
    assert!(json.contains("\"UNSEEN_BUILD\""), "{json}");
}
