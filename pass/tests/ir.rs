//! Runs `testdata/ir/*.ll`: each file holds its command (`; RUN:` lines), its input and what is expected (CHECK lines),
//! as in LLVM's own tests. `opt` is LLVM's with our plugin loaded, `%s` the file.

use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn ir_files_hold() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let prefix = std::env::var("LLVM_SYS_221_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".into());
    let mut failed = Vec::new();
    let mut count = 0;
    for directory in ["testdata/ir", "testdata/regressions"] {
        for file in files(&root.join(directory)) {
            let text = std::fs::read_to_string(&file).expect("a readable test file");
            let commands: Vec<&str> = text.lines().filter_map(|l| l.trim().strip_prefix("; RUN: ")).collect();
            assert!(!commands.is_empty(), "{} has no RUN line", file.display());
            count += 1;
            for command in commands {
                if let Err(output) = run(command, &file, Path::new(&prefix)) {
                    failed.push(format!("{}: {command}\n{output}", file.display()));
                }
            }
        }
    }
    assert!(count > 0, "no IR tests found");
    assert!(failed.is_empty(), "{} of {count} files failed:\n{}", failed.len(), failed.join("\n\n"));
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .map(|entry| entry.expect("a directory entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "ll"))
        .collect();
    files.sort();
    files
}

/// Runs one command in a shell in which `opt` and `FileCheck` are LLVM's. The environment is empty but for PATH.
fn run(command: &str, file: &Path, prefix: &Path) -> Result<(), String> {
    let script = format!(
        "set -o pipefail\nopt() {{ '{bin}/opt' -load-pass-plugin='{plugin}' \"$@\"; }}\n{command}",
        bin = prefix.join("bin").display(),
        plugin = plugin().display(),
        command = command.replace("%s", &file.display().to_string()),
    );
    let path = format!("{}:/usr/bin:/bin", prefix.join("bin").display());
    let output = Command::new("bash").args(["-c", &script]).env_clear().env("PATH", path).output().expect("bash runs");
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The plugin that cargo built for this test: a debug build, which verifies each function it changed.
fn plugin() -> PathBuf {
    let deps = std::env::current_exe().expect("the test's path").parent().expect("deps").to_owned();
    let plugin = deps.join("libunseen_pass.so");
    assert!(plugin.exists(), "no plugin at {}", plugin.display());
    plugin
}
