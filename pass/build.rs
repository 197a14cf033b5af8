//! Builds the C++ shim against LLVM 22.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=shim");
    println!("cargo::rerun-if-env-changed=LLVM_SYS_221_PREFIX");
    let prefix = std::env::var("LLVM_SYS_221_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".into());
    let config = format!("{prefix}/bin/llvm-config");
    let output = Command::new(&config).arg("--cxxflags").output();
    let flags = match output {
        Ok(o) if o.status.success() => String::from_utf8(o.stdout).expect("llvm-config prints text"),
        _ => panic!("no LLVM 22 at {prefix}: run scripts/setup, or set LLVM_SYS_221_PREFIX to its prefix"),
    };
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .files([
            "shim/plugin.cpp",
            "shim/bodies.cpp",
            "shim/gates.cpp",
            "shim/known.cpp",
            "shim/loops.cpp",
            "shim/off.cpp",
            "shim/pipeline.cpp",
            "shim/reads.cpp",
            "shim/tests.cpp",
            "shim/traces.cpp",
            "shim/types.cpp",
        ])
        .warnings(false);
    for flag in flags.split_whitespace() {
        build.flag(flag);
    }
    build.compile("unseen_shim");
}
