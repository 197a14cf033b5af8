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
        ("unseen-clang", llvm("clang"), "c/off/jumps.c"),
        ("unseen-clang", llvm("clang"), "c/off/loops.c"),
        ("unseen-clang", llvm("clang"), "c/cover/control.c"),
        ("unseen-clang++", llvm("clang++"), "cpp/off/exceptions.cpp"),
        ("unseen-clang++", llvm("clang++"), "cpp/off/library.cpp"),
        ("unseen-clang++", llvm("clang++"), "cpp/cover/objects.cpp"),
        ("unseen-rustc", "rustc".into(), "rust/off/panics.rs"),
    ] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let source = root().join("testdata/programs").join(source);
        build(dir.path(), &plain, &source, "plain", "-O");
        let expected = text(Command::new("./plain").current_dir(dir.path()));
        for level in if compiler == "unseen-rustc" { &["-O"][..] } else { &["-O0", "-O1", "-O2", "-O3", "-Os"] } {
            build(dir.path(), &tools().join(compiler), &source, "ours", level);
            let run = |name: &str, value: &str| text(Command::new("./ours").env(name, value).current_dir(dir.path()));
            assert_eq!(run("UNSEEN", "off"), expected, "off: {} {level}", source.display());
            assert_eq!(run("UNSEEN_DIR", "store"), expected, "on: {} {level}", source.display());
        }
    }
}

#[test]
fn the_second_body_has_no_probes_and_calls_second_bodies() {
    let (_, code) = disassembled("control.c");
    let body = |label: &str| body(&code, label);
    for function in ["fib", "table", "interpret", "assembly"] {
        assert!(body(&format!("{function}.on")).contains("__unseen_counters"), "{}", body(&format!("{function}.on")));
        let off = body(&format!("{function}.off"));
        assert!(!off.contains("__unseen_counters"), "{off}");
    }
    assert!(body("fib").contains("__unseen_epoch"));
    assert!(body("fib.on").contains("<fib.on>") && body("fib.off").contains("<fib.off>"));
    assert!(!body("fib.off").contains("__unseen_epoch"));
}

#[test]
fn the_second_body_does_not_jump_over_jumps() {
    let (dir, code) = disassembled("jumps.c");
    let second: Vec<_> =
        code.split("\n\n").filter(|part| part.lines().next().is_some_and(|l| l.ends_with(".off>:"))).collect();
    assert!(second.len() > 3);
    for body in second {
        let lines: Vec<Vec<&str>> = body.lines().skip(1).map(|l| l.split_whitespace().collect()).collect();
        for line in lines.windows(3) {
            let [branch, jump, next] = [&line[0], &line[1], &line[2]].map(|words| words.get(1).copied().unwrap_or(""));
            let reversible = branch.starts_with('j') && !["jmp", "jp", "jnp"].contains(&branch);
            let target = line[0].get(2).and_then(|t| t.strip_prefix("0x")).unwrap_or("");
            let past = reversible && jump == "jmp" && line[2][0].trim_end_matches(':') == target;
            assert!(!past, "{branch} past {jump} to {next} in\n{body}");
        }
    }
    // One store costs less than the branch between two bodies.
    let symbols = text(Command::new(llvm("llvm-nm")).arg("ours").current_dir(dir.path()));
    let address = |name: &str| symbols.lines().find(|l| l.ends_with(&format!(" {name}"))).map(|l| &l[..16]);
    assert!(address("seven").is_some() && address("seven") == address("seven.off"), "{symbols}");
    assert!(address("fold.on").is_some() && address("fold.on") != address("fold.off"), "{symbols}");
}

#[test]
fn loops_lose_their_probes_in_the_second_body_and_ask_for_nothing() {
    let (_, code) = disassembled("loops.c");
    let body = |label: &str| body(&code, label);
    for function in ["sum", "find", "nested", "automaton", "collatz", "fill"] {
        let on = body(&format!("{function}.on"));
        assert!(on.contains("__unseen_epoch"), "{function} has a loop with a copy: {on}");
        let off = body(&format!("{function}.off"));
        assert!(!off.contains("__unseen"), "{off}");
    }
    assert!(body("sum.off").contains("xmm"), "the loop is vectorised: {}", body("sum.off"));
}

/// What the report says of the lines of a function: those that were not reached.
fn missed(dir: &Path, arguments: &[&str]) -> String {
    text(Command::new(tools().join("unseen")).args(["run", "--", "./ours"]).args(arguments).current_dir(dir));
    let report = text(Command::new(tools().join("unseen")).args(["report", "--format", "lcov"]).current_dir(dir));
    report.lines().filter(|l| l.starts_with("DA:") && l.ends_with(",0")).collect::<Vec<_>>().join(" ")
}

#[test]
fn whoever_forgets_what_was_covered_begins_another_epoch() {
    let source = root().join("testdata/programs/c/off/epochs.c");
    let here = |line: &str| {
        let text = std::fs::read_to_string(&source).expect("a program");
        1 + text.lines().position(|l| l.contains(line)).unwrap_or_else(|| panic!("no line {line}"))
    };
    let dir = tempfile::tempdir().expect("a temporary directory");
    text(
        Command::new(tools().join("unseen-clang"))
            .args(["-O2", "-I"])
            .arg(root().join("runtime/include"))
            .args(["-o", "ours"])
            .arg(&source)
            .current_dir(dir.path()),
    );
    // The loop ran ten times before, and once after.
    let lines = missed(dir.path(), &["reset"]);
    assert!(!lines.contains(&format!("DA:{},0", here("s += p[i] & 1 ? 3"))), "{lines}");
    assert!(lines.contains(&format!("DA:{},0", here("s += p[i] & 1 ? 5"))), "reset forgets: {lines}");
    // The file of the child alone.
    for (mode, line) in [("fork", "s += p[i] & 1 ? 5"), ("kill", "s = s & 1 ? s * 3")] {
        std::fs::remove_dir_all(dir.path().join(".unseen")).expect("a store");
        text(Command::new(tools().join("unseen")).args(["run", "--", "./ours", mode]).current_dir(dir.path()));
        let report =
            text(Command::new(tools().join("unseen")).args(["report", "--format", "lcov"]).current_dir(dir.path()));
        let expected = if mode == "fork" { 2 } else { 1 };
        let row = format!("DA:{},{expected}", here(line));
        assert!(report.lines().any(|l| l == row), "{mode}: no {row} in {report}");
    }
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

/// Builds one of our programs; where it is (`ours`), and its code.
fn disassembled(source: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let source = root().join("testdata/programs/c/off").join(source);
    build(dir.path(), &tools().join("unseen-clang"), &source, "ours", "-O2");
    let code = text(Command::new(llvm("llvm-objdump")).args(["-d", "--no-show-raw-insn", "ours"]).current_dir(&dir));
    (dir, code)
}

/// The part of a disassembly that belongs to a label.
fn body<'a>(code: &'a str, label: &str) -> &'a str {
    let start = code.find(&format!("<{label}>:\n")).unwrap_or_else(|| panic!("no {label} in\n{code}"));
    let rest = &code[start..];
    &rest[..rest.find("\n\n").unwrap_or(rest.len())]
}
