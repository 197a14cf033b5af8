//! The promises of `cargo unseen`, on the workspace in testdata/programs/rust/workspace.

mod toolbox;

use std::path::Path;
use toolbox::{Place, tools};

/// A copy of the workspace; builds must not litter the source tree.
fn workspace() -> Place {
    let place = Place::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("testdata").join("programs/rust/workspace");
    place.shell(&format!("cp -r {}/. .", source.display())).fine();
    place
}

const LIBRARY: &str = "x86_64-unknown-linux-gnu";

#[test]
fn a_workspace_builds_runs_and_is_tested() {
    let place = workspace();
    place.run("cargo unseen build --locked").fine();
    let debug = "target/unseen/debug";
    assert!(!place.path("target/debug").exists(), "usual builds are not disturbed");
    let app = format!("{debug}/app");
    assert_eq!(place.run(&format!("{app} x")).fine().stdout, "hello, X!\nSquare of area 9\n5\n14\n");

    // C of the -sys crate, libraries, a derive and the program are one module.
    let functions = place.run(&format!("unseen manifest {app}")).fine().stdout;
    for name in ["squares_sum", "shapes::Square::area", "both::larger", "shapes::Describe>::describe", "app::main"] {
        let line = functions.lines().find(|l| l.contains(name)).unwrap_or_else(|| panic!("{name} is missing"));
        assert!(line.starts_with("cover "), "{line}");
    }
    assert!(place.instrumented(&format!("{debug}/libplugin.so")));
    assert!(place.path(&format!("{debug}/libplugin.rlib")).exists());
    let declined = place.section(&format!("{debug}/libshared.so"), ".unseen.declined");
    assert!(declined.starts_with("shared: a dylib"), "{declined}");
    // Of a library of both kinds programs use the rlib.
    let declined = place.section(&format!("{debug}/libboth.so"), ".unseen.declined");
    assert!(declined.starts_with("both: a dylib"), "{declined}");
    assert_eq!(place.section(&app, ".unseen.declined"), "");
    assert!(!place.instrumented(&format!("{debug}/libshapes_macros.so")), "a proc-macro is left alone");
    place.write("c.c", "int archive_area(int); int main(void) { return archive_area(3) != 9; }\n");
    place.run(&format!("unseen-clang c.c {debug}/libarchive.a -o c")).fine();
    place.run("./c").fine();
    assert_eq!(place.function("c", "archive_area").as_deref(), Some("cover"));

    // Nothing to do is nothing done; a change is built; options are noticed.
    let again = place.run("cargo unseen build --locked").fine().stderr;
    assert!(!again.contains("Compiling"), "{again}");
    place.shell("touch squares-sys/squares.c").fine();
    assert!(place.run("cargo unseen build --locked").fine().stderr.contains("Compiling squares-sys"));
    let other = place.run_with("cargo unseen build --locked -p app", &[("UNSEEN_BUILD", "none")]).fine().stderr;
    assert!(other.contains("Compiling app"), "{other}");
    assert_eq!(place.function(&app, "squares_sum").as_deref(), Some("no mechanism chosen"));

    let tested = place.run("cargo unseen test --locked").fine();
    assert!(tested.stdout.contains("test the_program_runs ... ok"), "{}", tested.stdout);
    assert!(tested.stdout.contains("Doc-tests shapes") || tested.stderr.contains("Doc-tests shapes"));
    assert!(!tested.stderr.contains("cargo-unseen: warning"), "{}", tested.stderr);
    let report = place.run("unseen report --format lcov").fine().stdout;
    for file in ["app/src/main.rs", "squares-sys/squares.c", "shapes/src/lib.rs", "both/src/lib.rs"] {
        assert!(report.lines().any(|l| l.starts_with("SF:") && l.ends_with(file)), "{file}");
    }

    place.run("cargo unseen run --locked -q -p app --example area").fine();
    place.run("cargo unseen check --locked").fine();
    let loud = place.run("cargo unseen run --locked -q -p app --no-default-features -- y").fine().stdout;
    assert!(loud.starts_with("hello, y\n"), "{loud}");
    assert_eq!(place.run("cargo unseen run --locked -q -p app -- panic").code, Some(101));
}

#[test]
fn release_builds_other_directories_and_named_targets() {
    let place = workspace();
    let release = format!("cargo unseen build --locked --release -p app --target {LIBRARY} --target-dir out");
    place.run(&release).fine();
    let app = format!("out/{LIBRARY}/release/app");
    assert!(place.run(&format!("{app} x")).fine().stdout.starts_with("hello, X!"));
    assert!(place.instrumented(&app));
    assert!(!place.path("target").exists());
    place.run_with("cargo unseen build --locked -p plugin", &[("CARGO_TARGET_DIR", "elsewhere")]).fine();
    assert!(place.instrumented("elsewhere/debug/libplugin.so"));
}

#[test]
fn fat_and_thin_lto_profiles_serve_too() {
    let place = workspace();
    for lto in ["fat", "thin", "off"] {
        let dir = format!("out-{lto}");
        place
            .run(&format!("cargo unseen build --locked -p app --target-dir {dir} --config profile.dev.lto=\"{lto}\""))
            .fine();
        assert!(place.run(&format!("{dir}/debug/app x")).fine().stdout.starts_with("hello, X!"), "{lto}");
        assert_eq!(place.function(&format!("{dir}/debug/app"), "squares_sum").as_deref(), Some("cover"), "{lto}");
    }
}

#[test]
fn as_a_plain_wrapper_of_rustc() {
    let place = workspace();
    let wrapper = tools().join("unseen-rustc").display().to_string();
    place.run_with("cargo build --locked -p app", &[("RUSTC_WRAPPER", &wrapper)]).fine();
    assert!(place.run("target/debug/app x").fine().stdout.starts_with("hello, X!"));
    // The C went through cc, and the manifest says so.
    let c = place.function("target/debug/app", "squares_sum");
    assert_eq!(c.as_deref(), Some("native code (no bitcode)"));
    assert!(place.instrumented("target/debug/app"));
}

#[test]
fn help_and_mistakes() {
    let place = Place::new();
    assert!(place.run("cargo unseen --help").fine().stdout.contains("target directory"));
    let ran = place.run("cargo unseen build");
    assert_eq!(ran.code, Some(101), "{}", ran.stderr);
    assert!(ran.stderr.contains("could not find `Cargo.toml`"), "{}", ran.stderr);
    place
        .run_with("cargo unseen build", &[("RUSTC_WRAPPER", "/x/cargo-tarpaulin")])
        .failed(2, &["cargo-unseen: error: RUSTC_WRAPPER is already /x/cargo-tarpaulin", "unset it"]);
}

#[test]
fn tests_that_call_cargo_get_a_cargo_of_their_own() {
    let place = Place::new();
    place.write("Cargo.toml", "[package]\nname = \"outer\"\nedition = \"2024\"\n[workspace]\n");
    place.shell("mkdir -p src tests inner/src").fine();
    place.write("src/lib.rs", "");
    place.write("inner/Cargo.toml", "[package]\nname = \"inner\"\nedition = \"2024\"\n[workspace]\n");
    place.write("inner/src/main.rs", "fn main() { println!(\"inside\"); }\n");
    place.write(
        "tests/nested.rs",
        "#[test] fn builds() {
            let cargo = std::process::Command::new(env!(\"CARGO\")).arg(\"build\").current_dir(\"inner\").status().unwrap();
            assert!(cargo.success());
            let out = std::process::Command::new(\"inner/target/debug/inner\").output().unwrap();
            assert_eq!(out.stdout, b\"inside\\n\");
        }",
    );
    place.run("cargo unseen test").fine();
    assert!(!place.instrumented("inner/target/debug/inner"));
}

#[test]
fn programs_and_tests_get_the_users_environment() {
    let place = Place::new();
    place.write("Cargo.toml", "[package]\nname = \"outer\"\nedition = \"2024\"\n[workspace]\n");
    place.shell("mkdir -p src tests .cargo").fine();
    // Ours are there while the build script runs.
    place.write(
        "build.rs",
        "fn main() { assert!(std::env::var(\"CC_x86_64_unknown_linux_gnu\").unwrap().ends_with(\"unseen-clang\")); }",
    );
    let show = "for (name, value) in std::env::vars() {
            // Those that search paths are made of differ anyway.
            let other = [\"UNSEEN_DIR\", \"UNSEEN_RUN\", \"PATH\", \"LD_LIBRARY_PATH\"].contains(&name.as_str());
            if !other && (name.contains(\"UNSEEN\") || value.contains(\"unseen-\") || name.starts_with(\"AR_\")) {
                println!(\"{name}={value}\");
            }
        }
        assert!(std::env::var_os(\"UNSEEN_DIR\").is_some());";
    place.write("src/main.rs", &format!("fn main() {{ {show} std::process::exit(7) }}"));
    place.write("tests/one.rs", &format!("#[test] fn shows() {{ {show} }}"));
    let mine = [("AR_x86_64-unknown-linux-gnu", "my-ar"), ("UNSEEN_EXCLUDE", "none")];
    let expected = ["AR_x86_64-unknown-linux-gnu=my-ar", "UNSEEN_EXCLUDE=none"];
    let shown = |text: &str| {
        let mut lines: Vec<_> = text.lines().filter(|l| l.contains('=')).map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let ran = place.run_with("cargo unseen run -q -- x", &mine);
    assert_eq!((ran.code, shown(&ran.stdout)), (Some(7), expected.map(str::to_owned).to_vec()), "{}", ran.stderr);
    let ran = place.run_with("cargo unseen test -q --test one -- --nocapture", &mine).fine();
    assert_eq!(shown(&ran.stdout), expected);
    // A runner of the user's is the one that runs.
    place.write("my-runner", "#!/bin/sh\necho \"mine ran ${1##*/}\"\n");
    place.shell("chmod +x my-runner").fine();
    place.write(".cargo/config.toml", &format!("[target.{LIBRARY}]\nrunner = \"./my-runner\"\n"));
    assert_eq!(place.run("cargo unseen run -q").fine().stdout, "mine ran outer\n");
}
