//! Bad input: each a message that says what to do, a documented exit code, and nothing half-written.

mod toolbox;

use toolbox::{Place, tools};

fn place() -> Place {
    let place = Place::new();
    place.write("a.c", "int main(void) { return 0; }\n");
    place
}

#[test]
fn a_missing_llvm() {
    let place = place();
    for tool in ["unseen-clang -c a.c", "unseen-clang --version", "unseen-ar t x.a", "unseen-strip x"] {
        place
            .run_with(tool, &[("UNSEEN_LLVM", "/no/such/llvm")])
            .failed(3, &["error: UNSEEN_LLVM: no LLVM 22 in /no/such/llvm", "install llvm-22-dev"]);
    }
    assert!(!place.path("a.o").exists());
}

#[test]
fn an_llvm_of_another_version() {
    let place = place();
    place.write("llvm/lib/clang/15/include/stddef.h", "");
    let llvm = place.path("llvm").display().to_string();
    place
        .run_with("unseen-clang -c a.c", &[("UNSEEN_LLVM", &llvm)])
        .failed(3, &["unseen-clang: error: UNSEEN_LLVM: LLVM 15 in ", "but LLVM 22 is needed"]);
}

/// A copy of the tools in which one file can be spoilt.
fn copy_of_tools(place: &Place) -> String {
    let bin = place.path("copy");
    std::fs::create_dir(&bin).unwrap();
    for file in ["unseen", "libunseen_pass.so", "libunseen_rt.a"] {
        std::fs::copy(tools().join(file), bin.join(file)).unwrap();
    }
    std::os::unix::fs::symlink("unseen", bin.join("unseen-clang")).unwrap();
    std::os::unix::fs::symlink("unseen", bin.join("unseen-rustc")).unwrap();
    "copy/unseen-clang".to_owned()
}

#[test]
fn a_plugin_of_another_version() {
    let place = place();
    let clang = copy_of_tools(&place);
    place.run(&format!("{clang} a.c -o prog")).fine();
    std::fs::remove_file(place.path("prog")).unwrap();
    place.run("clang-22 -shared -fPIC a.c -o copy/libunseen_pass.so").fine();
    let said = ["libunseen_pass.so does not belong to this unseen (ABI 1)", "unseen_pass_abi_v1", "scripts/build"];
    place.run(&format!("{clang} a.c -o prog")).failed(3, &said);
    place.write("m.rs", "fn main() {}\n");
    place.run("copy/unseen-rustc m.rs -o prog").failed(3, &said);
    std::fs::remove_file(place.path("copy/libunseen_pass.so")).unwrap();
    place.run(&format!("{clang} a.c -o prog")).failed(3, &["libunseen_pass.so: No such file", "scripts/build"]);
    assert!(!place.path("prog").exists());
}

#[test]
fn a_runtime_of_another_version() {
    let place = place();
    let clang = copy_of_tools(&place);
    place.run("clang-22 -c a.c -o other.o").fine();
    std::fs::remove_file(place.path("copy/libunseen_rt.a")).unwrap();
    place.run("llvm-ar-22 rcs copy/libunseen_rt.a other.o").fine();
    let said = ["libunseen_rt.a does not belong to this unseen (ABI 1)", "__unseen_abi_v1", "scripts/build"];
    place.run(&format!("{clang} a.c -o prog")).failed(3, &said);
    assert!(!place.path("prog").exists());
}

#[test]
fn a_pass_that_does_not_run() {
    let place = place();
    let clang = copy_of_tools(&place);
    // It names the right version, loads, and does nothing.
    place.write(
        "idle.c",
        "const unsigned unseen_pass_abi_v1 = 1;\n\
         struct info { unsigned api; const char *name, *version; void (*hook)(void *); void *codegen; };\n\
         static void hook(void *b) { (void)b; }\n\
         struct info llvmGetPassPluginInfo(void) { struct info i = { 2, \"idle\", \"1\", hook, 0 }; return i; }\n",
    );
    place.run("clang-22 -shared -fPIC idle.c -o copy/libunseen_pass.so").fine();
    place
        .run(&format!("{clang} a.c -o prog"))
        .failed(3, &["prog: bitcode was linked, but the pass did not run", "it was removed"]);
    assert!(!place.path("prog").exists());
}

#[test]
fn unknown_mechanisms_and_keys() {
    let place = place();
    place.run("unseen-clang --unseen=covr -c a.c").failed(
        2,
        &["--unseen: no mechanism is called 'covr', did you mean 'cover'?", "the mechanisms are: state, access, cover"],
    );
    place.run("unseen-clang --unseen -c a.c").failed(2, &["--unseen names no mechanism"]);
    for tool in ["unseen-clang a.c", "unseen-rustc a.rs"] {
        place.run_with(tool, &[("UNSEEN_BUILD", "taint")]).failed(2, &["UNSEEN_BUILD: no mechanism is called 'taint'"]);
    }
    place.run_with("unseen-clang a.c", &[("UNSEEN_LTO", "thin")]).failed(2, &["set UNSEEN_LTO to on or off"]);
    place.write("unseen.toml", "[build]\nexcludes = []\n");
    place.run("unseen-clang a.c").failed(
        2,
        &["unseen.toml: unknown key 'excludes', did you mean 'exclude'?", "known are: mechanisms, exclude, std, level"],
    );
    place.write("unseen.toml", "[build\n");
    place.run("unseen-clang a.c").failed(2, &["unseen.toml"]);
    assert!(!place.path("a.out").exists());
}

#[test]
fn variables_that_nobody_knows() {
    let place = place();
    place.write("m.rs", "fn main() {}\n");
    for tool in
        ["unseen-clang -c a.c", "unseen-rustc m.rs", "unseen run true", "unseen verify true", "cargo-unseen build"]
    {
        let ran = place.run_with(tool, &[("UNSEEN_BUIL", "x")]);
        ran.failed(
            2,
            &["the environment has UNSEEN_BUIL, which is no option; did you mean UNSEEN_BUILD?", "unseen options"],
        );
    }
    assert!(!place.path("a.o").exists() && !place.path(".unseen").exists());
    // A compiler is called in environments that others have made.
    place.run_with("unseen-clang -c a.c", &[("UNSEEN_HOME", "/opt")]).fine();
    place.run_with("unseen run true", &[("UNSEEN_HOME", "/opt")]).failed(2, &["the environment has UNSEEN_HOME"]);
    let ran = place.run_with("unseen doctor", &[("UNSEEN_HOME", "/opt"), ("UNSEEN_COVR", "off")]);
    assert_eq!(ran.code, Some(3));
    for name in ["UNSEEN_HOME", "UNSEEN_COVR"] {
        let said = format!("the environment has {name}");
        assert!(ran.stdout.lines().any(|l| l.starts_with("WRONG environment") && l.contains(&said)), "{}", ran.stdout);
    }
}

#[test]
fn values_that_mean_nothing() {
    let place = place();
    for (name, value, allowed) in [
        ("UNSEEN", "offf", "on or off"),
        ("UNSEEN_COVER", "offf", "on or off"),
        ("UNSEEN_POLICY", "nevr", "unseen, always, never or watch"),
    ] {
        let (is, set) = (format!("{name} is '{value}'"), format!("set {name} to {allowed}"));
        place.run_with("unseen run true", &[(name, value)]).failed(2, &[&is, &set]);
        let doctor = place.run_with("unseen doctor", &[(name, value)]).stdout;
        assert!(doctor.contains(&is), "{doctor}");
    }
    place.run_with("unseen run true", &[("UNSEEN_COVER", ""), ("UNSEEN_POLICY", "never")]).fine();
    for (name, value, allowed) in [("UNSEEN_LINKER", "gold", "lld"), ("UNSEEN_LOG", "x", "off or on")] {
        let (is, set) = (format!("{name} is '{value}'"), format!("set {name} to {allowed}"));
        place.run_with("unseen-clang -c a.c", &[(name, value)]).failed(2, &[&is, &set]);
    }
    place.run("unseen-clang --unseen= -c a.c").failed(2, &["--unseen names no mechanism"]);
    place.run("unseen-clang --unseen=cover,none -c a.c").failed(2, &["--unseen names mechanisms and none"]);
    assert!(!place.path("a.o").exists());
}

#[test]
fn patterns_that_are_none_are_told_where_they_stand() {
    let place = place();
    place.write("unseen.toml", "[build]\nexclude = [\"b[c\"]\n");
    place
        .run("unseen-clang -c a.c")
        .failed(2, &["unseen.toml: build.exclude: bad pattern `b[c`: unclosed character class"]);
    place.run_with("unseen-clang -c a.c", &[("UNSEEN_EXCLUDE", "x,b[c")]).failed(2, &["unseen.toml: build.exclude"]);
    std::fs::remove_file(place.path("unseen.toml")).unwrap();
    place
        .run_with("unseen-clang -c a.c", &[("UNSEEN_EXCLUDE", "x,b[c")])
        .failed(2, &["UNSEEN_EXCLUDE: bad pattern `b[c`"]);
}

#[test]
fn relative_patterns_exclude_files() {
    let place = place();
    place.write("sub/b.c", "int b(void) { return 1; }\n");
    for (pattern, reason) in [("b.c", true), ("sub/", true), ("{b,z}.c", true), ("ub/b.c", false)] {
        place.write("unseen.toml", &format!("[build]\nexclude = [\"{pattern}\"]\n"));
        place.run("unseen-clang -g a.c sub/b.c -o prog").fine();
        let excluded = place.function("prog", "b").as_deref() == Some("excluded by configuration");
        assert_eq!(excluded, reason, "{pattern}");
        assert_eq!(place.function("prog", "main").as_deref(), Some("cover"));
    }
}

#[test]
fn the_plugin_by_itself_says_that_it_does_nothing() {
    let place = place();
    let plugin = tools().join("libunseen_pass.so").display().to_string();
    for level in ["-O0", "-O2"] {
        let ran = place.run(&format!("clang-22 {level} -fpass-plugin={plugin} -c a.c")).fine();
        assert!(ran.stderr.contains("unseen-pass: warning: nothing is instrumented"), "{level}: {}", ran.stderr);
    }
    for tool in ["unseen-clang a.c", "unseen-clang -O2 a.c", "unseen-clang -O2 -flto=thin a.c"] {
        for lto in ["on", "off"] {
            let ran = place.run_with(tool, &[("UNSEEN_LTO", lto)]).fine();
            assert!(!ran.stderr.contains("nothing is instrumented"), "{tool}: {}", ran.stderr);
        }
    }
}

#[test]
fn objects_of_another_architecture() {
    let place = place();
    for flags in ["", "-flto=full"] {
        place.run(&format!("clang-22 {flags} --target=aarch64-linux-gnu -c a.c -o arm.o")).fine();
        place
            .run("unseen-clang arm.o -o prog")
            .failed(3, &["unseen-clang: error: arm.o is code for aarch64", "compile it again for x86-64"]);
    }
    place.run("llvm-ar-22 rcs libarm.a arm.o").fine();
    place.run("unseen-clang a.c libarm.a -o prog").failed(3, &["libarm.a(arm.o) is code for aarch64"]);
    place.run("unseen-clang a.c -L. -larm -o prog").failed(3, &["libarm.a(arm.o) is code for aarch64"]);
    assert!(!place.path("prog").exists());
    // GNU ld looks further.
    let found = place.shell("mkdir own; clang-22 -c a.c -o own/a.o; llvm-ar-22 rcs own/libarm.a own/a.o").fine();
    assert_eq!(found.stderr, "");
    place.run_with("unseen-clang a.c -L. -Lown -larm -o prog", &[("UNSEEN_LTO", "off")]).fine();
}

#[test]
fn objects_that_another_version_instrumented() {
    let place = place();
    place.write(
        "old.c",
        "void __unseen_abi_v0(void);\n\
         __attribute__((section(\".unseen.manifest\"))) char manifest[] = \"old\";\n\
         __attribute__((constructor)) static void enter(void) { __unseen_abi_v0(); }\n",
    );
    place.run("clang-22 -c old.c").fine();
    place.run("unseen-clang a.c old.o -o prog").failed(
        3,
        &[
            "undefined symbol: __unseen_abi_v0",
            "old.o was instrumented by another version of Unseen: this one has no __unseen_abi_v0",
            "compile it again with this version",
        ],
    );
    assert!(!place.path("prog").exists());
}

#[test]
fn bitcode_for_thin_lto() {
    let place = place();
    place.run("clang-22 -flto=thin -c a.c").fine();
    place
        .run("unseen-clang a.o -o prog")
        .failed(3, &["unseen-clang: error: a.o is bitcode for thin LTO", "or with -flto=full instead of -flto=thin"]);
    place.run("llvm-ar-22 rcs libthin.a a.o").fine();
    place.run("unseen-clang -L. -lthin -o prog").failed(3, &["libthin.a(a.o) is bitcode for thin LTO"]);
    place.write("script.ld", "INPUT(a.o)");
    for hidden in ["script.ld", "-Wl,-L,. -lthin", "-Wl,-L. -lthin"] {
        let ran = place.run(&format!("unseen-clang {hidden} -o prog"));
        ran.failed(3, &["a.o", "is bitcode for thin LTO", "or with -flto=full instead of -flto=thin"]);
    }
    assert!(!place.path("prog").exists());
}

#[test]
fn another_linker() {
    let place = place();
    for flag in ["-fuse-ld=bfd", "-fuse-ld=gold", "--ld-path=/usr/bin/ld"] {
        place
            .run(&format!("unseen-clang {flag} a.c -o prog"))
            .failed(3, &[&format!("{flag} was demanded, but only lld can run the pass"), "UNSEEN_LINKER=lld"]);
        assert!(!place.path("prog").exists());
    }
    place.run_with("unseen-clang -fuse-ld=bfd a.c -o prog", &[("UNSEEN_LINKER", "lld")]).fine();
    assert!(place.instrumented("prog"));
    place.write("m.rs", "fn main() {}\n");
    place.run("unseen-rustc -Clinker=ld.gold m.rs").failed(3, &["unseen-rustc: error: -C linker=ld.gold was demanded"]);
    let ran = place.run("unseen-rustc -Clink-arg=-fuse-ld=gold m.rs");
    assert_ne!(ran.code, Some(0));
    assert!(ran.stderr.contains("UNSEEN_LINKER=lld"), "{}", ran.stderr);
}

#[test]
fn damaged_objects_are_the_linkers_to_name() {
    let place = place();
    place.run("unseen-clang -c a.c").fine();
    let whole = std::fs::read(place.path("a.o")).unwrap();
    std::fs::write(place.path("a.o"), &whole[..whole.len() / 2]).unwrap();
    let ran = place.run("unseen-clang a.o -o prog");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("a.o"), "{}", ran.stderr);
}

#[test]
fn bitcode_can_not_be_stripped_but_survives_it() {
    let place = place();
    place.run("unseen-clang -c a.c").fine();
    let before = std::fs::read(place.path("a.o")).unwrap();
    let ran = place.run("unseen-strip -g a.o").fine();
    assert!(ran.stderr.contains("unseen-strip: a.o: bitcode can't be stripped; left as it is"), "{}", ran.stderr);
    assert_eq!(std::fs::read(place.path("a.o")).unwrap(), before);
    place.run("unseen-clang a.o -o prog").fine();
    for strip in ["unseen-strip", "strip"] {
        place.run(&format!("{strip} prog")).fine();
        place.run("./prog").fine();
        assert!(place.instrumented("prog"), "{strip} must leave the manifest");
    }
    let symbols = place.run("unseen-nm a.o").fine().stdout;
    assert!(symbols.contains(" T main"), "{symbols}");
}

#[test]
fn an_unwritable_place_for_temporary_files() {
    let place = place();
    place
        .run_with("unseen-clang a.c -o prog", &[("TMPDIR", "/proc/nowhere")])
        .failed(3, &["unseen-clang: error: can't write /proc/nowhere", "TMPDIR"]);
}

#[test]
fn doctor_says_what_is_wrong() {
    let place = place();
    let ran = place.run("unseen doctor");
    let json = place.run("unseen doctor --format json");
    assert_eq!(ran.code, json.code);
    for name in ["plugin", "runtime", "clang", "ld.lld", "rustc", "cargo", "unseen-clang++"] {
        assert!(ran.stdout.lines().any(|l| l.starts_with("ok") && l.contains(name)), "{name}:\n{}", ran.stdout);
        assert!(json.stdout.contains(&format!("\"name\": \"{name}\"")), "{}", json.stdout);
    }
    assert!(!ran.stdout.contains("is missing"), "scripts/build makes a link for each role:\n{}", ran.stdout);
    let ran = place.run_with("unseen doctor", &[("UNSEEN_LLVM", "/none"), ("UNSEEN_RUSTC", "/no/rustc")]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.stdout.contains("WRONG llvm") && ran.stdout.contains("-> install llvm-22-dev"), "{}", ran.stdout);
    assert!(ran.stdout.contains("WRONG rustc"), "{}", ran.stdout);
}
