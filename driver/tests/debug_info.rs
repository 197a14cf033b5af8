//! Debug info stays valid: gdb stops at the same lines with the same values, and every function's address leads to the
//! same source line as without us.

mod toolbox;

use std::path::{Path, PathBuf};
use std::process::Command;
use toolbox::{llvm, root, text, tools};

#[test]
fn gdb_stops_at_the_same_places_with_the_same_values() {
    let (ours, plain) = build(&["-g", "-O0"]);
    let session = [
        "set debuginfod enabled off",
        "break add",
        "break stops.c:12",
        "run",
        "info args",
        "backtrace 2",
        "continue",
        "info args",
        "next",
        "next",
        "info locals",
        "finish",
    ];
    let run = |program: &Path| {
        let mut gdb = Command::new("gdb");
        gdb.args(["-q", "-nx", "-batch"]).args(session.iter().flat_map(|c| ["-ex", c])).arg(program);
        scrub(&text(&mut gdb))
    };
    let expected = run(&plain);
    assert!(expected.contains("a = 30") && expected.contains("sum = 34"), "the session means something:\n{expected}");
    assert_eq!(run(&ours), expected);
}

#[test]
fn every_function_has_its_line() {
    let (ours, plain) = build(&["-g", "-O0"]);
    for name in ["add", "walk", "main"] {
        assert_eq!(line_of(&ours, name), line_of(&plain, name), "{name}");
    }
    // Optimised code begins with whatever was scheduled first: any line of the function.
    for flags in [&["-g", "-O2", "-fno-inline"][..], &["-gline-tables-only", "-O1", "-fno-inline"]] {
        let (ours, _) = build(flags);
        for (name, lines) in [("add", 9..=14), ("walk", 16..=21), ("main", 23..=27)] {
            let found = line_of(&ours, name);
            let line: u32 = found.split("stops.c:").nth(1).and_then(|l| l.split(':').next()?.parse().ok()).unwrap_or(0);
            assert!(lines.contains(&line), "{name} with {flags:?}: {found}");
        }
    }
}

#[test]
fn lines_nobody_asked_for_are_not_in_the_binary() {
    let (ours, plain) = build(&["-O2"]);
    assert_eq!(debug_sections(&ours), debug_sections(&plain));
}

/// The program built by us and by clang itself, with these flags.
fn build(flags: &[&str]) -> (PathBuf, PathBuf) {
    let dir = tempfile::tempdir().expect("a temporary directory").keep();
    let source = root().join("testdata/programs/c/debug/stops.c");
    let wrapper = tools().join("unseen-clang");
    let make = |compiler: &Path, name: &str| {
        let out = dir.join(name);
        text(Command::new(compiler).args(flags).arg("-o").arg(&out).arg(&source));
        out
    };
    // Names of one length: where the stack begins depends on it.
    (make(&wrapper, "ours"), make(&llvm("clang"), "them"))
}

fn line_of(program: &Path, function: &str) -> String {
    let symbols = text(Command::new(llvm("llvm-nm")).arg(program));
    let line = symbols.lines().find(|l| l.ends_with(&format!(" {function}"))).expect("the function's symbol");
    let address = format!("0x{}", line.split(' ').next().expect("an address"));
    text(Command::new(llvm("llvm-symbolizer")).arg("-e").arg(program).arg(address))
}

fn debug_sections(program: &Path) -> Vec<String> {
    let sections = text(Command::new(llvm("llvm-readelf")).args(["-S", "-W"]).arg(program));
    let words = sections.split_whitespace().filter(|w| w.starts_with(".debug"));
    words.map(str::to_owned).collect()
}

/// Without addresses, process numbers and names of files.
fn scrub(session: &str) -> String {
    let kept = session.lines().filter(|l| {
        !["Breakpoint 1 at", "Breakpoint 2 at", "[", "Using host", "warning:"].iter().any(|p| l.starts_with(p))
    });
    let words = kept.map(|l| l.split(' ').map(|w| if w.starts_with("0x") { "ADDRESS" } else { w }));
    words.map(|w| w.collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join("\n")
}
