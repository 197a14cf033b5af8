//! Compiles the C part with the compiler that is set for the target, as the `cc` crate does.

use std::env::var;
use std::process::Command;

fn main() {
    let (out, target) = (var("OUT_DIR").unwrap(), var("TARGET").unwrap());
    let tool = |kind: &str, usual: &str| var(format!("{kind}_{}", target.replace('-', "_"))).unwrap_or(usual.into());
    let run = |command: &mut Command| assert!(command.status().unwrap().success(), "{command:?}");
    run(Command::new(tool("CC", "cc")).args(["-O2", "-fPIC", "-c", "hash.c", "-o"]).arg(format!("{out}/hash.o")));
    run(Command::new(tool("AR", "ar")).arg("rcs").arg(format!("{out}/libhash.a")).arg(format!("{out}/hash.o")));
    println!("cargo::rustc-link-search=native={out}");
    println!("cargo::rustc-link-lib=static=hash");
    println!("cargo::rerun-if-changed=hash.c");
}
