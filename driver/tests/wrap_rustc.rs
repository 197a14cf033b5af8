//! The promises of `unseen-rustc`: per crate type, on stable, with and without cargo.

mod toolbox;

use toolbox::Place;

const LIB: &str = "pub fn triple(n: u32) -> u32 { if n > 3 { n * 3 } else { 1 } }\n";
const MAIN: &str = "fn main() { assert_eq!(lib::triple(std::env::args().count() as u32), 1); println!(\"fine\"); }\n";

fn sources() -> Place {
    let place = Place::new();
    place.write("lib.rs", LIB);
    place.write("main.rs", MAIN);
    place
}

#[test]
fn programs_are_one_module_with_std_at_every_level() {
    let place = sources();
    for flags in [
        "",
        "-O -Clto=thin -Ccodegen-units=4",
        "-Copt-level=s -Cpanic=abort -Cstrip=symbols",
        "-Copt-level=1 -g -Cincremental=inc",
    ] {
        place.run(&format!("unseen-rustc {flags} --crate-type rlib lib.rs")).fine();
        place.run(&format!("unseen-rustc {flags} main.rs --extern lib=liblib.rlib -o prog")).fine();
        assert_eq!(place.run("./prog").fine().stdout, "fine\n");
        let functions = place.run("unseen manifest prog").fine().stdout;
        let outcome = |name: &str| {
            functions.lines().find(|l| l.contains(name)).map(|l| l.split("  ").next().unwrap().trim().to_owned())
        };
        assert_eq!(outcome("lib::triple").as_deref(), Some("cover"), "{flags}");
        assert_eq!(outcome("main::main").as_deref(), Some("cover"), "{flags}");
        assert!(
            functions.lines().filter(|l| l.starts_with("standard library")).count() > 100,
            "{flags}: std is in the module"
        );
    }
}

#[test]
fn overflow_checks_and_debug_assertions_stay_what_the_level_implies() {
    let place = Place::new();
    place.write(
        "m.rs",
        "fn main() { println!(\"{} {}\", cfg!(debug_assertions), std::panic::catch_unwind(|| \
         std::hint::black_box(255u8) + std::hint::black_box(1)).is_err()); }\n",
    );
    for (flags, expected) in [("", "true true\n"), ("-O", "false false\n"), ("-O -Coverflow-checks=on", "false true\n")]
    {
        place.run(&format!("unseen-rustc {flags} m.rs -o prog")).fine();
        assert_eq!(place.run("./prog").fine().stdout, expected, "{flags}");
    }
}

#[test]
fn libraries_can_still_be_linked_without_us() {
    let place = sources();
    place.run("unseen-rustc -O --crate-type rlib lib.rs").fine();
    place.run("rustc main.rs --extern lib=liblib.rlib -o prog").fine();
    assert_eq!(place.run("./prog").fine().stdout, "fine\n");
}

#[test]
fn every_crate_type_has_its_way() {
    let place = sources();
    place.write("c.rs", "#[unsafe(no_mangle)] pub extern \"C\" fn twice(x: i32) -> i32 { x * 2 }\n");
    place.write("main.c", "int twice(int); int main(void) { return twice(4) != 8; }\n");
    place.run("unseen-rustc -O --crate-type cdylib --crate-type rlib --crate-name c c.rs").fine();
    assert!(place.instrumented("libc.so") && place.path("libc.rlib").exists());
    assert_eq!(place.function("libc.so", "twice").as_deref(), Some("cover"));
    place.run("unseen-rustc -O --crate-type staticlib --crate-name s c.rs").fine();
    place.run("unseen-clang -O2 main.c libs.a -o prog").fine();
    place.run("./prog").fine();
    // C and Rust are one module.
    for name in ["main", "twice"] {
        assert_eq!(place.function("prog", name).as_deref(), Some("cover"), "{name}");
    }
    place.run("unseen-rustc --crate-type dylib --crate-name d lib.rs").fine();
    let reason = "d: a dylib: rustc can't merge it with what it uses\n";
    assert_eq!(place.section("libd.so", ".unseen.declined"), reason);
    place.run("unseen-rustc --test lib.rs -o tests").fine();
    place.run("./tests").fine();
    assert!(place.instrumented("tests"));
    place.write("attr.rs", "#![crate_type = \"lib\"]\npub fn f() {}\n");
    place.run("unseen-rustc attr.rs").fine();
    assert!(place.path("libattr.rlib").exists());
}

#[test]
fn what_prefers_dynamic_linking_is_declined_with_a_reason() {
    let place = sources();
    place.run("unseen-rustc --crate-type dylib -Cprefer-dynamic lib.rs").fine();
    place.run("unseen-rustc -Cprefer-dynamic main.rs --extern lib=liblib.so -o prog").fine();
    assert!(place.section("prog", ".unseen.declined").starts_with("main.rs: -C prefer-dynamic"));
    let ran = place.run("unseen-rustc main.rs --extern lib=liblib.so -o prog");
    let plain = place.run("rustc main.rs --extern lib=liblib.so -o prog2");
    assert_eq!(ran.code, plain.code, "{}", ran.stderr);
}

/// Generic code is instantiated in one crate and used in another, by levels: all files of a library must agree on where.
#[test]
fn of_a_library_of_both_kinds_the_rlib_is_used_unless_the_dylib_must_be() {
    let place = sources();
    place.write(
        "d.rs",
        "pub fn all<T: ToString>(t: &[T]) -> String { t.iter().map(T::to_string).collect() }\n\
                         pub fn known() -> String { all(&[1, 2]) }\n",
    );
    place.write("mid.rs", "pub fn mid() -> String { d::known() + &d::all(&[1, 2]) }\n");
    place.write("m.rs", "fn main() { println!(\"{}{}\", mid::mid(), d::known()); }\n");
    let both = "--extern d=libd.so --extern d=libd.rlib --extern mid=libmid.rlib -L dependency=.";
    let sysroot = place.run("rustc --print=target-libdir").fine().stdout;
    let found = format!(".:{}", sysroot.trim());
    for level in ["", "-O"] {
        place.run(&format!("unseen-rustc {level} --crate-type dylib --crate-type rlib -Cprefer-dynamic d.rs")).fine();
        assert_eq!(
            place.section("libd.so", ".unseen.declined"),
            "d.rs: a dylib: rustc can't merge it with what it uses\n"
        );
        place.run(&format!("unseen-rustc {level} --crate-type rlib mid.rs {both}")).fine();
        place.run(&format!("unseen-rustc {level} m.rs {both} -o prog")).fine();
        assert_eq!(place.run("./prog").fine().stdout, "121212\n");
        assert_eq!(place.section("prog", ".unseen.declined"), "");
        for name in ["d::known", "mid::mid", "m::main"] {
            assert_eq!(place.function("prog", name).as_deref(), Some("cover"), "{name} {level}");
        }
        place.run(&format!("unseen-rustc {level} -Cprefer-dynamic m.rs {both} -o dynamic")).fine();
        assert!(place.section("dynamic", ".unseen.declined").starts_with("m.rs: -C prefer-dynamic"));
        assert_eq!(place.run_with("./dynamic", &[("LD_LIBRARY_PATH", &found)]).fine().stdout, "121212\n");
    }
    // Where nobody names the rlib, it is the dylib.
    place.write("n.rs", "fn main() { println!(\"{}\", d::known()); }\n");
    place.shell("mkdir so; cp libd.so so").fine();
    let ran = place.run("unseen-rustc n.rs --extern d=so/libd.so -o dynamic").fine();
    assert!(!place.instrumented("dynamic"), "{}", ran.stderr);
    assert_eq!(place.section("dynamic", ".unseen.declined"), "n.rs: it uses the dylib so/libd.so\n");
    assert_eq!(place.run_with("./dynamic", &[("LD_LIBRARY_PATH", &found)]).fine().stdout, "12\n");
}

#[test]
fn a_program_with_an_allocator_of_its_own_is_recorded() {
    let place = Place::new();
    place.write(
        "m.rs",
        "use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
struct Counting;
static CALLS: AtomicUsize = AtomicUsize::new(0);
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        if layout.size() > 1 << 40 {
            return std::ptr::null_mut();
        }
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        unsafe { System.dealloc(p, layout) }
    }
}
#[global_allocator]
static ALLOCATOR: Counting = Counting;
fn main() {
    let all: Vec<String> = (0..10).map(|i| i.to_string()).collect();
    println!(\"{} {}\", all.len(), CALLS.load(Ordering::Relaxed));
}
",
    );
    place.run("unseen-rustc m.rs -o prog").fine();
    let unrecorded = place.run("./prog").fine().stdout;
    // The runtime takes nothing from the program's allocator.
    assert_eq!(place.run("unseen run ./prog").fine().stdout, unrecorded);
    let report = place.run("unseen report --format lcov").fine().stdout;
    for line in ["DA:7,1", "DA:9,0", "DA:11,1", "DA:14,1", "DA:20,1", "DA:21,1"] {
        assert!(report.lines().any(|l| l == line), "{line}:\n{report}");
    }
}

#[test]
fn another_linker_is_refused_without_advice_that_does_not_help() {
    let place = sources();
    place.run("unseen-rustc --crate-type rlib lib.rs").fine();
    let line = "unseen-rustc main.rs --extern lib=liblib.rlib -Clink-arg=-fuse-ld=bfd -o prog";
    let ran = place.run(line).failed(1, &["bfd was demanded, but only lld can run the pass", "UNSEEN_LINKER=lld"]);
    assert!(!ran.stderr.contains("UNSEEN_LTO=off"), "{}", ran.stderr);
    place.run_with(line, &[("UNSEEN_LINKER", "lld")]).fine();
    assert_eq!(place.function("prog", "lib::triple").as_deref(), Some("cover"));
}

#[test]
fn questions_are_answered_as_rustc_answers() {
    let place = sources();
    for line in [
        "-vV",
        "--version",
        "--print=cfg",
        "--print sysroot",
        "--print target-list",
        "--help",
        "--explain E0001",
        "--emit=metadata --crate-type lib lib.rs",
        "nonexistent.rs",
        "",
    ] {
        let ours = place.run(&format!("unseen-rustc {line}"));
        let theirs = place.run(&format!("rustc {line}"));
        assert_eq!((ours.code, &ours.stdout, &ours.stderr), (theirs.code, &theirs.stdout, &theirs.stderr), "{line}");
    }
    // As cargo's wrapper: the compiler comes first.
    assert_eq!(place.run("unseen-rustc rustc -vV").stdout, place.run("rustc -vV").stdout);
    let probe = "printf 'fn main() {}' | unseen-rustc --crate-name probe --emit=metadata --out-dir . -";
    place.shell(probe).fine();
}

#[test]
fn errors_and_warnings_are_rustcs() {
    let place = Place::new();
    place.write("bad.rs", "fn main() { let x: u8 = \"\"; }\n");
    place.write("warn.rs", "fn main() { let x = 1; }\n");
    for line in ["bad.rs", "warn.rs", "--error-format=json warn.rs", "-Dwarnings warn.rs"] {
        let ours = place.run(&format!("unseen-rustc {line}"));
        let theirs = place.run(&format!("rustc {line}"));
        assert_eq!((ours.code, &ours.stderr), (theirs.code, &theirs.stderr), "{line}");
    }
    // Compiled twice, warned of once.
    let both = place.run("unseen-rustc --crate-type rlib --crate-type cdylib warn.rs").fine();
    assert_eq!(both.stderr.matches("unused variable").count(), 1, "{}", both.stderr);
}

#[test]
fn argument_files_are_read() {
    let place = sources();
    place.run("unseen-rustc --crate-type rlib lib.rs").fine();
    place.write("args", "main.rs\n--extern\nlib=liblib.rlib\n-o\nmy prog\n");
    place.run("unseen-rustc @args").fine();
    assert!(place.instrumented("my prog"));
}
