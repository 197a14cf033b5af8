//! Small programs that each pin one case of dependency sets. The set stands in comments at the top of each file:
//! `// FUNCTION reads ITEM; ITEM`, `// FUNCTION writes ITEM`, `// FUNCTION opaque REASON`, `// FUNCTION ends REASON` (for calls
//! that do not return). Reads and writes are compared where there is such a line, reasons always: without a line there must be
//! none. The item `...` stands for any others.

mod toolbox;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toolbox::{Place, root};

/// What a file expects: by function and kind.
type Expected = BTreeMap<String, BTreeMap<String, Vec<String>>>;

fn files(language: &str) -> Vec<PathBuf> {
    let directory = root().join("testdata/programs").join(language).join("deps");
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files
}

fn expected(file: &Path) -> Expected {
    let mut all = Expected::new();
    for line in std::fs::read_to_string(file).unwrap().lines() {
        let Some((function, rest)) = line.strip_prefix("// ").and_then(|l| l.split_once(' ')) else { continue };
        let (kind, items) = rest.split_once(' ').unwrap_or((rest, ""));
        if ["reads", "writes", "opaque", "ends"].contains(&kind)
            && function.chars().all(|c| c.is_alphanumeric() || c == '_')
        {
            let items = items.split("; ").filter(|i| !i.is_empty()).map(str::to_owned).collect();
            all.entry(function.to_owned()).or_default().insert(kind.to_owned(), items);
        }
    }
    assert!(!all.is_empty(), "{} expects nothing", file.display());
    all
}

/// Compares one function; what is wrong.
fn compare(document: &Value, function: &str, expected: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let names = |unit: &&Value| {
        let name = unit["name"].as_str().unwrap();
        name.split('(').next().unwrap().rsplit("::").next().unwrap() == function
    };
    let Some(unit) = document["functions"].as_array().unwrap().iter().find(names) else {
        return vec![format!("no function {function}")];
    };
    let list = |key: &str, field: &str| {
        let items = unit[key].as_array().unwrap().iter().map(|i| i[field].as_str().unwrap().to_owned());
        let mut items: Vec<String> = items.collect();
        items.sort();
        items
    };
    let mut wrong = Vec::new();
    let mut check = |kind: &str, found: Vec<String>, wanted: Option<&Vec<String>>| {
        let mut wanted = wanted.cloned().unwrap_or_default();
        wanted.sort();
        // "..." stands for others.
        let others = wanted.first().is_some_and(|w| w == "...");
        let fits = found == wanted || others && wanted[1..].iter().all(|w| found.contains(w));
        if !fits {
            wrong.push(format!("{function} {kind}: expected {wanted:?}, found {found:?}"));
        }
    };
    for (kind, ends) in [("opaque", false), ("ends", true)] {
        let reasons = unit["reasons"].as_array().unwrap().iter().filter(|r| r["ends"] == ends);
        let mut reasons: Vec<String> = reasons.map(|r| r["reason"].as_str().unwrap().to_owned()).collect();
        reasons.sort();
        check(kind, reasons, expected.get(kind));
    }
    for kind in ["reads", "writes"] {
        if let Some(wanted) = expected.get(kind) {
            check(kind, list(kind, "item"), Some(wanted));
        }
    }
    wrong
}

fn sets(place: &Place, binary: &str) -> Value {
    serde_json::from_str(&place.run(&format!("unseen deps {binary} --format json")).fine().stdout).unwrap()
}

fn compile_each(language: &str, compiler: &str, least: usize) {
    let place = Place::new();
    let mut wrong = Vec::new();
    let files = files(language);
    for file in &files {
        let flags = "-w -g -O1 --unseen=state -shared -fPIC";
        place.run(&format!("{compiler} {flags} {} -o one.so", file.display())).fine();
        let document = sets(&place, "one.so");
        for (function, expected) in expected(file) {
            let found = compare(&document, &function, &expected);
            wrong.extend(found.iter().map(|w| format!("{}: {w}", file.file_name().unwrap().display())));
        }
    }
    assert!(files.len() >= least, "only {} programs", files.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn c_programs_have_the_sets_they_state() {
    compile_each("c", "unseen-clang", 48);
}

#[test]
fn cpp_programs_have_the_sets_they_state() {
    compile_each("cpp", "unseen-clang++", 12);
}

/// All in one crate: the standard library is linked once. Functions carry the name of their file in front.
#[test]
fn rust_programs_have_the_sets_they_state() {
    let place = Place::new();
    let files = files("rust");
    let stem = |file: &Path| file.file_stem().unwrap().to_str().unwrap().to_owned();
    let module = |file: &PathBuf| format!("#[path = {file:?}]\npub mod {};\n", stem(file));
    place.write("all.rs", &files.iter().map(module).collect::<String>());
    let flags = "-g -O --crate-type cdylib --edition 2024";
    place.run_with(&format!("unseen-rustc {flags} all.rs -o all.so"), &[("UNSEEN_BUILD", "state")]).fine();
    let document = sets(&place, "all.so");
    let mut wrong = Vec::new();
    for file in &files {
        for (function, expected) in expected(file) {
            wrong.extend(compare(&document, &format!("{}_{function}", stem(file)), &expected));
        }
    }
    assert!(files.len() >= 12, "only {} programs", files.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn unknown_functions_get_the_nearest_and_binaries_without_sets_a_reason() {
    let place = Place::new();
    place.write("a.c", "int frobnicate(int x) { return x; }\nint main(void) { return frobnicate(0); }\n");
    place.run("unseen-clang -O1 --unseen=state,cover a.c -o a").fine();
    place.run("unseen deps a frobnicat").failed(2, &["no function is called 'frobnicat'", "did you mean frobnicate?"]);
    place.run("unseen deps a frobnicate --why nothing").failed(2, &["no set has an item or reason like 'nothing'"]);
    place.run("unseen-clang -O1 --unseen=cover a.c -o b").fine();
    place.run("unseen deps b").failed(3, &["carries no dependency sets", "--unseen=state,cover"]);
    place.run("cc a.c -o c").fine();
    place.run("unseen deps c").failed(3, &["has no Unseen manifest"]);
    place.run("strip a").fine();
    let text = place.run("unseen deps a frobnicate").fine().stdout;
    assert!(text.contains("reads   arg0"), "{text}");
}

#[test]
fn why_follows_the_calls_and_the_summary_adds_up() {
    let place = Place::new();
    let program = "int g;\nstatic int in(void) {\n  return g;\n}\nint out(void) {\n  return in();\n}\nint main(void) { return out(); }\n";
    place.write("a.c", program);
    place.run("unseen-clang -g -O1 --unseen=state a.c -o a").fine();
    let text = place.run("unseen deps a out --why g").fine().stdout;
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    assert_eq!(lines, ["out  a.c:5  exact, pure", "a.c:6  out  g", "a.c:3  in  g"]);
    let summary = place.run("unseen deps a --summary").fine().stdout;
    assert!(summary.starts_with("3 functions\n  exact         3  100.0 %\n"), "{summary}");
}
