//! Coverage against clang's own: the same programs, the same runs, the same lines reached and not reached.
//!
//! Every program in `testdata/programs/*/cover/` is built twice, run twice and reported as LCOV twice. A line on which
//! the two differ must carry a comment `// differs: ...` that explains it, and such a comment must be needed. Lines
//! that llvm-cov counts only because a region spans them (braces, blank lines, comments, `else`, labels, heads of functions)
//! carry no code: they are no difference.

mod toolbox;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use toolbox::{llvm, root, text, tools};

#[test]
fn c_lines_agree() {
    agree("c", |dir, source, out| {
        text(
            Command::new(tools().join("unseen-clang")).args(["-O2", "-w", "-o"]).arg(out).arg(source).current_dir(dir),
        );
        clang(dir, "clang", source);
    });
}

#[test]
fn cpp_lines_agree() {
    agree("cpp", |dir, source, out| {
        text(
            Command::new(tools().join("unseen-clang++"))
                .args(["-O2", "-w", "-o"])
                .arg(out)
                .arg(source)
                .current_dir(dir),
        );
        clang(dir, "clang++", source);
    });
}

#[test]
fn rust_lines_agree() {
    agree("rust", |dir, source, out| {
        text(
            Command::new(tools().join("unseen-rustc")).args(["-Awarnings", "-o"]).arg(out).arg(source).current_dir(dir),
        );
        let flags = ["-Cinstrument-coverage", "-Awarnings", "-o", "theirs"];
        text(Command::new("rustc").args(flags).arg(source).current_dir(dir));
    });
}

fn clang(dir: &Path, name: &str, source: &Path) {
    let flags = ["-O0", "-w", "-fprofile-instr-generate", "-fcoverage-mapping", "-o", "theirs"];
    text(Command::new(llvm(name)).args(flags).arg(source).current_dir(dir));
}

/// Builds every program of a language by `build` (directory, source, our output; theirs is `theirs`) and compares.
fn agree(language: &str, build: impl Fn(&Path, &Path, &Path)) {
    let programs = root().join("testdata/programs").join(language).join("cover");
    let mut problems = Vec::new();
    let mut count = 0;
    for entry in std::fs::read_dir(&programs).expect("programs") {
        let source = entry.expect("an entry").path();
        let dir = tempfile::tempdir().expect("a temporary directory");
        build(dir.path(), &source, Path::new("ours"));
        let ours = ours(dir.path(), &source);
        let theirs = theirs(dir.path(), &source);
        let text = std::fs::read_to_string(&source).expect("a source");
        problems.extend(compare(&text, &ours, &theirs).into_iter().map(|p| format!("{}:{p}", source.display())));
        count += 1;
    }
    assert!(count > 0, "no programs in {}", programs.display());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Lines and whether they were reached.
type Lines = BTreeMap<usize, bool>;

fn ours(dir: &Path, source: &Path) -> Lines {
    text(Command::new(tools().join("unseen")).args(["run", "--", "./ours"]).current_dir(dir));
    let lcov = text(Command::new(tools().join("unseen")).args(["report", "--format", "lcov"]).current_dir(dir));
    lines(&lcov, source)
}

fn theirs(dir: &Path, source: &Path) -> Lines {
    text(Command::new("./theirs").env("LLVM_PROFILE_FILE", "raw").current_dir(dir));
    text(Command::new(llvm("llvm-profdata")).args(["merge", "-o", "merged", "raw"]).current_dir(dir));
    let flags = ["export", "-format=lcov", "-instr-profile=merged", "theirs"];
    lines(&text(Command::new(llvm("llvm-cov")).args(flags).current_dir(dir)), source)
}

fn lines(lcov: &str, source: &Path) -> Lines {
    let name = source.file_name().expect("a file").to_str().expect("a plain name");
    let mut lines = Lines::new();
    let mut inside = false;
    for row in lcov.lines() {
        if let Some(path) = row.strip_prefix("SF:") {
            inside = path.ends_with(name);
        } else if let Some(data) = row.strip_prefix("DA:").filter(|_| inside) {
            let (line, hits) = data.split_once(',').expect("DA:line,hits");
            lines.insert(line.parse().expect("a line"), hits != "0");
        }
    }
    assert!(!lines.is_empty(), "no lines of {name} in:\n{lcov}");
    lines
}

fn compare(text: &str, ours: &Lines, theirs: &Lines) -> Vec<String> {
    let mut problems = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let (us, them) = (ours.get(&number), theirs.get(&number));
        let same = us == them || (us.is_none() && !carries_code(line));
        match (same, line.contains("// differs: ")) {
            (false, false) => problems.push(format!("{number}: ours {us:?}, llvm-cov {them:?}: {line}")),
            (true, true) => problems.push(format!("{number}: explained, but no difference: {line}")),
            _ => {}
        }
    }
    problems
}

/// Whether a line holds more than braces, comments, `else`, `try`, labels and the head of a function.
fn carries_code(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or("").trim();
    let control = ["if", "for", "while", "switch", "match", "} else", "} catch", "} while"];
    if code.ends_with('{') && !control.iter().any(|word| code.starts_with(word)) {
        return false;
    }
    let code = code.trim_matches(|c: char| "{}()[];, ".contains(c));
    let label = code.ends_with(':') && !code.contains('(');
    !(code.is_empty() || matches!(code, "else" | "try" | "do" | "} else" | "loop") || label)
}
