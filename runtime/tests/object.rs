//! The runtime's objects themselves: what they show, what they need, what they must not contain.

mod support;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Bench, llvm, repository, runtime, succeed};
use unseen_abi::hooks::{self, Hook};

/// The parts of the runtime: members of the archive with their hooks, and the size that each stays below.
const PARTS: [(&str, &[Hook], u64); 3] = [
    ("unseen-rt.o", hooks::BASIC, 40 * 1024),
    ("unseen-access.o", hooks::ACCESS, 104 * 1024),
    ("unseen-state.o", hooks::STATE, 368 * 1024),
];

/// A member of the archive, as a file of its own.
fn part(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("parts-{}-{name}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    succeed(llvm("llvm-ar").arg("x").arg("--output").arg(&directory).arg(runtime()).arg(name));
    directory.join(name)
}

#[test]
fn only_the_hooks_are_global_and_all_of_them() {
    for (name, hooks, _) in PARTS {
        let mut nm = llvm("llvm-nm");
        let symbols = succeed(nm.args(["--extern-only", "--defined-only", "--format=just-symbols"]).arg(part(name)));
        assert_eq!(symbols.lines().collect::<BTreeSet<_>>(), hooks.iter().map(|hook| hook.symbol).collect());
        let symbols = succeed(llvm("llvm-readelf").args(["--symbols", "--wide"]).arg(part(name)));
        for hook in hooks {
            let line = symbols.lines().find(|l| l.ends_with(&format!(" {}", hook.symbol))).unwrap();
            assert!(line.contains(" FUNC ") && line.contains(" GLOBAL ") && line.contains(" DEFAULT "), "{line}");
        }
    }
}

#[test]
fn programs_without_access_do_not_have_that_part() {
    let store = Bench::new();
    let program = store.build("program", "#include \"module.h\"\nint main(void) { hit(1); }", &[]);
    let symbols = succeed(llvm("llvm-nm").arg(program));
    assert!(symbols.contains(hooks::ENTER.symbol) && !symbols.contains("__unseen_access"), "{symbols}");
}

#[test]
fn what_is_local_can_be_told_from_the_programs_by_its_file() {
    // The driver leaves out functions of such files when it lists a program's.
    let symbols = succeed(llvm("llvm-readelf").args(["--symbols", "--wide"]).arg(runtime()));
    let files: Vec<_> =
        symbols.lines().filter(|l| l.contains(" FILE ")).filter_map(|l| l.split_whitespace().last()).collect();
    assert!(!files.is_empty() && files.iter().all(|file| file.starts_with("unseen_rt")), "{files:?}");
}

#[test]
fn it_needs_nothing_that_may_be_missing() {
    let symbols = succeed(llvm("llvm-nm").arg("--undefined-only").arg(runtime()));
    let undefined: BTreeSet<_> = symbols.lines().filter_map(|l| l.trim().strip_prefix("w ")).collect();
    let weak = ["__dso_handle", "__environ", "__libc_single_threaded", "__register_atfork", "pthread_atfork"];
    assert_eq!(undefined, BTreeSet::from(weak));
    assert_eq!(symbols.lines().filter(|l| l.contains(" U ")).count(), 0, "{symbols}");
}

#[test]
fn it_is_small_and_has_no_section_that_would_change_the_program() {
    for (name, _, most) in PARTS {
        let size = fs::metadata(part(name)).unwrap().len();
        assert!(size < most, "{name}: {size} bytes");
    }
    let sections = succeed(llvm("llvm-readelf").args(["--sections", "--wide"]).arg(runtime()));
    let names: Vec<_> = sections
        .lines()
        .filter_map(|l| l.trim_start().strip_prefix('[')?.split_once(']')?.1.split_whitespace().next())
        .collect();
    assert!(names.contains(&".text.__unseen_abi_v1"), "{names:?}");
    // It has a note that says it needs no executable stack, and the tables that let stacks be walked.
    assert!(names.contains(&".note.GNU-stack") && names.contains(&".eh_frame"), "{names:?}");
    let stack = sections.lines().find(|l| l.contains(".note.GNU-stack")).unwrap();
    assert!(!stack.contains('X'), "{stack}");
    for unwanted in
        [".debug", ".tdata", ".tbss", ".init", ".ctors", ".fini", ".dtors", ".preinit", ".comment", ".llvmbc"]
    {
        assert!(!names.iter().any(|name| name.starts_with(unwanted)), "{unwanted} in {names:?}");
    }
}

#[test]
fn a_second_build_is_quiet_and_changes_nothing() {
    let modified = || fs::metadata(runtime()).unwrap().modified().unwrap();
    let before = modified();
    let target = runtime().parent().unwrap().parent().unwrap();
    let output =
        Command::new(repository().join("scripts/build-runtime")).env("CARGO_TARGET_DIR", target).output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    assert_eq!(modified(), before);
}
