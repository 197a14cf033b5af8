//! A program that records nothing runs second bodies of its functions, without probes: it prints the same, and the probes
//! are really gone.

mod toolbox;

use std::path::Path;
use std::process::Command;
use toolbox::{llvm, root, text, tools};

#[test]
fn both_bodies_do_what_the_program_does() {
    for (compiler, plain, source) in [
        ("unseen-clang", llvm("clang"), "c/off/control.c"),
        ("unseen-clang", llvm("clang"), "c/cover/control.c"),
        ("unseen-clang++", llvm("clang++"), "cpp/off/exceptions.cpp"),
        ("unseen-clang++", llvm("clang++"), "cpp/cover/objects.cpp"),
        ("unseen-rustc", "rustc".into(), "rust/off/panics.rs"),
    ] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let source = root().join("testdata/programs").join(source);
        build(dir.path(), &plain, &source, "plain", "-O");
        let expected = text(Command::new("./plain").current_dir(dir.path()));
        for level in if compiler == "unseen-rustc" { &["-O"][..] } else { &["-O1", "-O2", "-O3", "-Os"] } {
            build(dir.path(), &tools().join(compiler), &source, "ours", level);
            let run = |name: &str, value: &str| text(Command::new("./ours").env(name, value).current_dir(dir.path()));
            assert_eq!(run("UNSEEN", "off"), expected, "off: {} {level}", source.display());
            assert_eq!(run("UNSEEN_DIR", "store"), expected, "on: {} {level}", source.display());
        }
    }
}

#[test]
fn the_second_body_has_no_probes_and_calls_second_bodies() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let source = root().join("testdata/programs/c/off/control.c");
    build(dir.path(), &tools().join("unseen-clang"), &source, "ours", "-O2");
    let code =
        text(Command::new(llvm("llvm-objdump")).args(["-d", "--no-show-raw-insn", "ours"]).current_dir(dir.path()));
    let body = |label: &str| {
        let start = code.find(&format!("<{label}>:\n")).unwrap_or_else(|| panic!("no {label} in\n{code}"));
        let rest = &code[start..];
        &rest[..rest.find("\n\n").unwrap_or(rest.len())]
    };
    for function in ["fib", "table", "interpret", "assembly"] {
        assert!(body(&format!("{function}.on")).contains("__unseen_counters"), "{}", body(&format!("{function}.on")));
        let off = body(&format!("{function}.off"));
        assert!(!off.contains("__unseen_counters"), "{off}");
    }
    assert!(body("fib").contains("__unseen_off"));
    assert!(body("fib.on").contains("<fib.on>") && body("fib.off").contains("<fib.off>"));
    assert!(!body("fib.off").contains("__unseen_off"));
}

#[test]
fn without_a_store_nothing_is_recorded_and_with_one_everything() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let source = root().join("testdata/programs/c/off/control.c");
    build(dir.path(), &tools().join("unseen-clang"), &source, "ours", "-O2");
    text(Command::new("./ours").current_dir(dir.path()));
    assert!(!dir.path().join(".unseen").exists());
    text(Command::new(tools().join("unseen")).args(["run", "./ours"]).current_dir(dir.path()));
    let report = text(Command::new(tools().join("unseen")).args(["report", "--functions"]).current_dir(dir.path()));
    for function in ["interpret", "fib", "jump", "odd", "even", "assembly", "compare"] {
        let row = report.lines().find(|l| l.ends_with(&format!(" {function}"))).expect("a row");
        assert!(row.contains("100.0 %"), "{row}");
    }
}

fn build(dir: &Path, compiler: &Path, source: &Path, out: &str, level: &str) {
    text(Command::new(compiler).arg(level).arg("-o").arg(out).arg(source).current_dir(dir));
}
