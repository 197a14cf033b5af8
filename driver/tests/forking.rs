//! A program that forks a lot leaves one file, and its report counts every process.

mod toolbox;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use toolbox::{text, tools};

const FORKING: &str = r#"#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
  int children = atoi(argv[1]);
  for (int i = 0; i < children; i++) {
    if (!fork()) {
      if (i % 2)
        _exit(1);
      abort();
    }
    wait(0);
  }
  int done[2];
  if (argc > 2 && !pipe(done)) {
    if (!fork()) {
      write(done[1], "x", 1);
      sleep(60);
    }
    read(done[0], argv[2], 1);
  }
  return 0;
}
"#;

/// A directory on a file system on which files are packed, if there is one, with the program in it.
fn place() -> tempfile::TempDir {
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary directory");
    fs::write(dir.path().join("forking.c"), FORKING).expect("a source");
    let mut build = Command::new(tools().join("unseen-clang"));
    text(build.args(["-O2", "forking.c", "-o", "forking"]).current_dir(dir.path()));
    dir
}

fn unseen(dir: &Path, arguments: &[&str]) -> String {
    text(Command::new(tools().join("unseen")).args(arguments).current_dir(dir).stdin(Stdio::null()))
}

fn files(dir: &Path, extension: &str) -> usize {
    let run = dir.join(".unseen/runs/r");
    let entries = fs::read_dir(run).expect("a run").map(|e| e.expect("an entry").path());
    entries.filter(|path| path.extension().is_some_and(|e| e == extension)).count()
}

/// How many processes got to a line.
fn count(lcov: &str, line: u32) -> Option<u32> {
    lcov.lines().find_map(|l| l.strip_prefix(&format!("DA:{line},"))).map(|n| n.parse().expect("a number"))
}

#[test]
fn a_hundred_children_leave_one_file_and_all_count() {
    let dir = place();
    unseen(dir.path(), &["run", "--name", "r", "./forking", "100"]);
    assert_eq!((files(dir.path(), "cov"), files(dir.path(), "pack")), (0, 1));
    let report = || unseen(dir.path(), &["report", "--format", "lcov"]);
    let before = report();
    assert_eq!([7, 8, 9, 10, 22].map(|line| count(&before, line)), [1, 100, 50, 50, 1].map(Some));
    // A few more in the same run stay as they are and are added.
    unseen(dir.path(), &["run", "--name", "r", "./forking", "2"]);
    assert_eq!((files(dir.path(), "cov"), files(dir.path(), "pack")), (3, 1));
    assert_eq!([7, 8, 9, 10, 22].map(|line| count(&report(), line)), [2, 102, 51, 51, 2].map(Some));
}

#[test]
fn a_child_that_lives_on_keeps_its_file() {
    let dir = place();
    let mut command = Command::new(tools().join("unseen"));
    command.args(["run", "--name", "r", "./forking", "40", "stay"]).current_dir(dir.path());
    assert!(command.status().expect("it runs").success());
    assert_eq!((files(dir.path(), "cov"), files(dir.path(), "pack")), (1, 1));
    let report = unseen(dir.path(), &["report", "--format", "lcov"]);
    assert_eq!([8, 17].map(|line| count(&report, line)), [Some(40), Some(1)]);
    let left = fs::read_dir(dir.path().join(".unseen/runs/r")).expect("a run").map(|e| e.expect("an entry").path());
    let own = left.into_iter().find(|path| path.extension().is_some_and(|e| e == "cov")).expect("its file");
    let name = own.file_stem().expect("a name").to_string_lossy().into_owned();
    let pid: i32 = name.split('-').nth(1).expect("a pid").parse().expect("a number");
    // SAFETY: the child sleeps, and its file, which it has mapped, says that this is its number.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
}
