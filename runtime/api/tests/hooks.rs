//! The crate in a plain build, and under `--cfg unseen` with and without a runtime.

use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn in_a_plain_build_nothing_is_active() {
    assert!(!unseen::active());
    unseen::cover_reset();
}

/// Compiles the crate under `--cfg unseen` and a program that uses it, with that C beside it; gives its exit code.
fn run(c: Option<&str>) -> i32 {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("api-{}", c.is_some()));
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    let api = Path::new(env!("CARGO_MANIFEST_DIR"));
    let rustc = |source: &Path, arguments: &[&str]| {
        let mut command = Command::new(option_env!("RUSTC").unwrap_or("rustc"));
        command.args(["--edition=2024", "-L", directory.to_str().unwrap(), "--out-dir", directory.to_str().unwrap()]);
        succeed(command.arg(source).args(arguments));
    };
    rustc(&api.join("../abi/src/lib.rs"), &["--crate-type=rlib", "--crate-name=unseen_abi"]);
    rustc(
        &api.join("attribute/src/lib.rs"),
        &["--crate-type=proc-macro", "--crate-name=unseen_attribute", "--extern=proc_macro"],
    );
    let library = [
        "--crate-type=rlib",
        "--crate-name=unseen",
        "--cfg=unseen",
        "--extern=unseen_abi",
        "--extern=unseen_attribute",
    ];
    rustc(&api.join("src/lib.rs"), &[&library[..], &["-Dwarnings", "--check-cfg=cfg(unseen)"]].concat());
    let program = directory.join("program.rs");
    let source = "fn main() { let active = unseen::active(); unseen::cover_reset(); \
        std::process::exit(if active { 40 } else { 10 } + i32::from(unseen::active())) }";
    std::fs::write(&program, source).unwrap();
    let object: PathBuf = directory.join("hooks.o");
    let mut arguments = vec!["--extern=unseen".to_owned()];
    if let Some(c) = c {
        let file = directory.join("hooks.c");
        std::fs::write(&file, c).unwrap();
        succeed(Command::new("cc").arg("-c").arg(file).arg("-o").arg(&object));
        arguments.push(format!("-Clink-arg={}", object.display()));
    }
    rustc(&program, &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    Command::new(directory.join("program")).status().unwrap().code().unwrap()
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn under_cfg_unseen_but_without_a_runtime_a_program_links_and_nothing_is_active() {
    assert_eq!(run(None), 10);
}

#[test]
fn under_cfg_unseen_the_hooks_are_called() {
    let hooks = "
        static int resets;
        int __unseen_active(void) { return 1 - resets; }
        void __unseen_cover_reset(void) { resets++; }";
    assert_eq!(run(Some(hooks)), 40);
}
