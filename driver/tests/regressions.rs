//! Runs `testdata/regressions/*` but for the IR files, which belong to the pass: each file holds the commands that went wrong
//! once (`RUN:` lines in comments, run in order in one empty directory) and mostly what is expected of them (CHECK lines). Our
//! tools and LLVM's `FileCheck` are on the path; `%s` is the file.

mod toolbox;

use std::path::PathBuf;

use toolbox::{Place, llvm, root};

#[test]
fn what_went_wrong_once_is_right() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(root().join("testdata/regressions"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e != "ll"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no files");
    let mut failed = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        let commands: Vec<&str> = text.lines().filter_map(|l| l.split_once(" RUN: ")).map(|(_, c)| c).collect();
        assert!(!commands.is_empty(), "{} has no RUN line", file.display());
        let place = Place::new();
        let bin = llvm("FileCheck");
        for command in commands {
            let script = format!("FileCheck() {{ '{}' \"$@\"; }}\n{command}", bin.display());
            let ran = place.shell(&script.replace("%s", &file.display().to_string()));
            if ran.code != Some(0) {
                failed.push(format!("{}: {command}\n{}{}", file.display(), ran.stdout, ran.stderr));
                break;
            }
        }
    }
    assert!(failed.is_empty(), "{} of {} failed:\n{}", failed.len(), files.len(), failed.join("\n\n"));
}
