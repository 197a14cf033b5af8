//! `unseen.h` in every dialect, with and without the runtime.

mod support;
use std::process::Command;
use support::{Bench, End, Store, llvm, repository, skip};

const PROGRAM: &str = "
    #include <unseen.h>
    #include <unseen.h>
    UNSEEN_SKIP static int skipped(void) { return 1; }
    int main(void) {
      int before = unseen_active();
      unseen_cover_reset();
      return skipped() + 2 * before + (UNSEEN_VERSION < 100);
    }";

/// Compiles with that compiler and language, warnings as errors, and runs: nothing is there, so nothing is active.
fn plain(mut compiler: Command, language: &str, standard: &str, flags: &[&str]) {
    let bench = Bench::new();
    let source = bench.path("program");
    std::fs::write(&source, PROGRAM).unwrap();
    let program = bench.path("a.out");
    compiler.args(["-Wall", "-Wextra", "-pedantic", "-Werror", "-x", language, &format!("-std={standard}")]);
    compiler.arg("-I").arg(repository().join("runtime/include")).arg(source).arg("-o").arg(&program);
    support::succeed(compiler.args(flags));
    Store::new().run(&program, End::Exit(1));
}

#[test]
fn every_dialect_compiles_without_a_warning_and_without_the_runtime() {
    for standard in ["c99", "c11", "c17", "gnu99", "gnu17"] {
        plain(llvm("clang"), "c", standard, &[]);
    }
    for standard in ["c++11", "c++17", "c++20"] {
        plain(llvm("clang"), "c++", standard, &["-lstdc++"]);
    }
    plain(llvm("clang"), "c", "c17", &["-static"]);
    plain(llvm("clang"), "c", "c17", &["-no-pie", "-fno-pic", "-O2"]);
}

#[test]
fn gcc_too() {
    for (compiler, language, standards) in
        [("gcc", "c", &["c99", "c11", "gnu17"][..]), ("g++", "c++", &["c++11", "c++17", "c++20"])]
    {
        if Command::new(compiler).arg("--version").output().is_err() {
            skip(&format!("there is no {compiler}"));
            continue;
        }
        for standard in standards {
            plain(Command::new(compiler), language, standard, &["-O2"]);
        }
    }
}

#[test]
fn with_the_runtime_it_speaks_to_it() {
    let bench = Bench::new();
    let include = format!("-I{}", repository().join("runtime/include").display());
    let source = "
        #include \"module.h\"
        #include <unseen.h>
        int main(void) { hit(1); int active = unseen_active(); unseen_cover_reset(); hit(2); return active; }";
    for mode in ["-pie", "-static", "-no-pie"] {
        let program = bench.build("program", source, &[&include, mode]);
        let store = Store::new();
        store.run(&program, End::Exit(1));
        assert_eq!(store.only().hits(), [2], "{mode}");
        support::run(store.command(&program).env("UNSEEN", "off"), End::Exit(0));
    }
}

#[test]
fn the_version_is_the_packages() {
    let header = std::fs::read_to_string(repository().join("runtime/include/unseen.h")).unwrap();
    let number = |part: &str| part.parse::<u32>().unwrap();
    let version = number(env!("CARGO_PKG_VERSION_MAJOR")) * 10000
        + number(env!("CARGO_PKG_VERSION_MINOR")) * 100
        + number(env!("CARGO_PKG_VERSION_PATCH"));
    assert!(header.contains(&format!("#define UNSEEN_VERSION {version}\n")), "{version}");
}

#[test]
fn a_skipped_function_can_be_told_from_its_attributes() {
    let bench = Bench::new();
    let source = bench.path("program.c");
    std::fs::write(&source, PROGRAM).unwrap();
    let mut clang = llvm("clang");
    clang.args(["-S", "-emit-llvm", "-o", "-", "-I"]).arg(repository().join("runtime/include")).arg(source);
    let ir = support::succeed(&mut clang);
    let line = ir.lines().find(|l| l.starts_with("define") && l.contains("@skipped")).unwrap();
    let group = line.rsplit('#').next().unwrap().trim_end_matches(" {");
    let attributes = ir.lines().find(|l| l.starts_with(&format!("attributes #{group} "))).unwrap();
    assert!(attributes.contains(" noprofile "), "{attributes}");
    let main = ir.lines().find(|l| l.starts_with("define") && l.contains("@main")).unwrap();
    assert_ne!(main.rsplit('#').next(), line.rsplit('#').next());
}
