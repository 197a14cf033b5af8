//! The promises of `unseen-clang`: it behaves as clang does, and what it links is instrumented.

mod toolbox;

use toolbox::Place;

const MAIN: &str = "int helper(int); int main(int argc, char **argv) { (void)argv; return helper(argc) != 1; }\n";
const HELPER: &str = "int helper(int x) { if (x > 5) return 0; return x; }\n";
const ASSEMBLY: &str = ".globl answer\nanswer: mov $42, %eax\nret\n.section .note.GNU-stack,\"\",@progbits\n";

fn sources() -> Place {
    let place = Place::new();
    place.write("main.c", MAIN);
    place.write("helper.c", HELPER);
    place.write("answer.S", ASSEMBLY);
    place
}

/// Both functions of the program went through the pass, and it runs.
#[track_caller]
fn works(place: &Place, program: &str) {
    place.run(&format!("./{program}")).fine();
    for name in ["main", "helper"] {
        assert_eq!(place.function(program, name).as_deref(), Some("cover"), "{name} in {program}");
    }
}

#[test]
fn every_way_to_a_program_is_instrumented() {
    let place = sources();
    for flags in ["", "-O2", "-Os -g", "-O3 -flto=thin", "-static", "-static-pie", "-no-pie -O1", "-s"] {
        place.run(&format!("unseen-clang {flags} main.c helper.c -o prog")).fine();
        works(&place, "prog");
    }
    place.run("unseen-clang -c main.c helper.c").fine();
    place.run("unseen-clang main.o helper.o").fine();
    works(&place, "a.out");
    place.run("unseen-clang++ -x c++ main.c helper.c -o prog").fine();
    place.run("./prog").fine();
    assert!(place.instrumented("prog"));
    place.shell("unseen-clang -x c - helper.c -o prog <main.c").fine();
    works(&place, "prog");
}

#[test]
fn the_list_of_inputs_names_what_was_linked() {
    let place = sources();
    place.write("unused.c", "int unused;\n");
    place.run("unseen-clang -c main.c helper.c unused.c answer.S").fine();
    place.run("unseen-ar rcs libh.a helper.o answer.o unused.o").fine();
    place.run("unseen-clang main.o -L. -lh -lm -o prog").fine();
    assert_eq!(place.section("prog", ".unseen.inputs"), "bitcode ./libh.a(helper.o)\nbitcode main.o\nlibrary -lm\n");
    place.run("unseen-clang main.c helper.c answer.o -o prog").fine();
    let inputs = place.section("prog", ".unseen.inputs");
    assert_eq!(inputs, "bitcode main.c\nbitcode helper.c\nnative answer.o\n");
}

#[test]
fn archives_of_gnu_ar_serve_too() {
    let place = sources();
    place.shell("unseen-clang -c main.c helper.c && ar rc libh.a helper.o && ranlib libh.a").fine();
    place.run("unseen-clang main.o libh.a -o prog").fine();
    works(&place, "prog");
}

#[test]
fn assembly_is_declined_with_a_reason() {
    let place = sources();
    place.run("unseen-clang -c answer.S").fine();
    assert_eq!(place.section("answer.o", ".unseen.declined"), "answer.S: assembly\n");
    place.run("unseen-clang main.c helper.c answer.o -o prog").fine();
    assert_eq!(place.section("prog", ".unseen.declined"), "answer.S: assembly\n");
    place.run("unseen-clang main.c helper.c answer.S -o prog").fine();
    works(&place, "prog");
    assert_eq!(place.section("prog", ".unseen.declined"), "answer.S: assembly\n");
}

#[test]
fn other_targets_are_declined_with_a_reason() {
    let place = sources();
    place.run("unseen-clang -c --target=aarch64-linux-gnu helper.c -o arm.o").fine();
    assert_eq!(place.section("arm.o", ".unseen.declined"), "helper.c: code for aarch64-linux-gnu\n");
    place.run("unseen-clang -c -m32 helper.c -o x86.o").fine();
    assert_eq!(place.section("x86.o", ".unseen.declined"), "helper.c: code for -m32\n");
    place.run("unseen-clang --unseen=none -c helper.c").fine();
    assert_eq!(place.section("helper.o", ".unseen.declined"), "helper.c: --unseen=none\n");
}

#[test]
fn what_makes_no_code_is_clangs_to_the_byte() {
    let place = sources();
    for line in [
        "--version",
        "-dumpmachine",
        "-dumpversion",
        "-print-search-dirs",
        "-print-resource-dir",
        "-print-prog-name=ld",
        "-E main.c",
        "-M main.c",
        "-MM main.c",
        "-S -O2 main.c -o -",
        "-S -emit-llvm main.c -o -",
        "-fsyntax-only main.c",
        "-c -emit-llvm -O1 helper.c -o -",
        "",
        "-c",
        "nonexistent.c",
        "-c -o x.o",
    ] {
        let ours = place.run(&format!("unseen-clang {line}"));
        let theirs = place.run(&format!("clang-22 {line}"));
        assert_eq!(ours.code, theirs.code, "{line}");
        assert_eq!(ours.stdout, theirs.stdout, "{line}");
        assert_eq!(ours.stderr.replace("unseen-clang", "clang"), theirs.stderr.replace("clang-22", "clang"), "{line}");
    }
}

#[test]
fn warnings_errors_and_exit_codes_are_clangs() {
    let place = sources();
    place.write("bad.c", "int f(void) { return g; }\n");
    place.write("warn.c", "int f(int x) { int y; return 0; }\n");
    for line in ["-c bad.c", "-Wall -Wextra -c warn.c", "-Wall -Werror -c warn.c", "-c main.c -o /nonexistent/x.o"] {
        let ours = place.run(&format!("unseen-clang {line}"));
        let theirs = place.run(&format!("clang-22 {line}"));
        assert_eq!((ours.code, &ours.stderr), (theirs.code, &theirs.stderr), "{line}");
    }
    // Nothing of what we add is unused or unknown.
    for line in ["-c main.c", "-c answer.S", "-c main.c answer.S", "main.c helper.c answer.S -o p"] {
        let ran = place.run(&format!("unseen-clang -Werror -Weverything {line}"));
        assert!(!ran.stderr.contains("unused-command-line"), "{line}: {}", ran.stderr);
    }
    place.run("unseen-clang -Werror -c -emit-llvm helper.c -o helper.bc").fine();
    place.run("unseen-clang -Werror -c helper.bc -o helper.o").fine();
    place.run("unseen-clang -Werror main.c helper.o -o p").fine();
    works(&place, "p");
}

#[test]
fn dependency_files_and_outputs_are_where_clang_puts_them() {
    let place = sources();
    place.run("unseen-clang -MMD -c main.c -o sub.o").fine();
    assert_eq!(std::fs::read_to_string(place.path("sub.d")).unwrap(), "sub.o: main.c\n");
    place.run("unseen-clang -c main.c -o /dev/null").fine();
    place.run("unseen-clang main.c helper.c -o /dev/null").fine();
    let out = place.shell("unseen-clang -x c -c -o - - <main.c | head -c 2").fine();
    assert_eq!(out.stdout, "BC");
}

#[test]
fn response_files_are_read_and_passed_on() {
    let place = sources();
    place.write("inner", "-DX='a b' \"helper.c\"\n");
    place.write("rsp", "-O2 main.c\n@inner -o 'my prog'\n");
    let log = place.run_with("unseen-clang @rsp", &[("UNSEEN_LOG", "on")]).fine().stderr;
    assert!(log.contains(" @rsp "), "{log}");
    assert!(place.instrumented("my prog"));
    place.write("ours", "--unseen=cover main.c helper.c -o prog");
    place.run("unseen-clang @ours").fine();
    works(&place, "prog");
}

#[test]
fn shared_objects_and_programs_carry_a_runtime_each() {
    let place = sources();
    place.run("unseen-clang -shared -fPIC -O2 helper.c -o libhelper.so").fine();
    place.run("unseen-clang main.c ./libhelper.so -o prog").fine();
    place.run("./prog").fine();
    for file in ["prog", "libhelper.so"] {
        assert!(place.instrumented(file));
        let symbols = place.run(&format!("llvm-nm-22 -D --defined-only {file}")).fine().stdout;
        assert!(symbols.contains(" T __unseen_abi_v1\n"), "{file}: {symbols}");
    }
    place.write("only.map", "{ global: helper; local: *; };");
    place.run("unseen-clang -shared -fPIC helper.c -Wl,--version-script=only.map -Wl,-z,defs -o libhelper.so").fine();
    place.run("./prog").fine();
    let symbols = place.run("llvm-nm-22 -D --defined-only libhelper.so").fine().stdout;
    assert!(!symbols.contains("__unseen"), "{symbols}");
}

#[test]
fn a_partial_link_keeps_bitcode_or_is_instrumented_itself() {
    let place = sources();
    place.run("unseen-clang -c main.c helper.c answer.S").fine();
    place.run("unseen-clang -r main.o helper.o -o part.o").fine();
    assert!(std::fs::read(place.path("part.o")).unwrap().starts_with(b"BC"));
    place.run("unseen-clang part.o -o prog").fine();
    works(&place, "prog");
    place.run("unseen-clang -r -nostdlib main.o helper.o answer.o -o part.o").fine();
    assert!(place.instrumented("part.o"));
    place.run("unseen-clang part.o -o prog").fine();
    works(&place, "prog");
    assert!(place.section("prog", ".unseen.inputs").contains("unit part.o\n"));
}

#[test]
fn a_program_without_libraries_links_and_runs() {
    let place = Place::new();
    let start = "void _start(void) { __asm__ volatile(\"syscall\" : : \"a\"(60), \"D\"(0) : \"rcx\", \"r11\"); }\n";
    place.write("start.c", start);
    for flags in ["-nostdlib -static", "-nostdlib", "-nostartfiles -nodefaultlibs -O2"] {
        place.run(&format!("unseen-clang {flags} start.c -o prog")).fine();
        place.run("./prog").fine();
        assert_eq!(place.function("prog", "_start").as_deref(), Some("cover"));
    }
}

#[test]
fn what_needs_passes_while_compiling_is_instrumented_per_translation_unit() {
    let place = sources();
    for flags in ["-fno-lto", "-fsanitize=address", "-fprofile-instr-generate -fcoverage-mapping", "-fno-integrated-as"]
    {
        place.run(&format!("unseen-clang {flags} -c main.c helper.c")).fine();
        assert!(place.instrumented("main.o"), "{flags}");
        place.run(&format!("unseen-clang {flags} main.o helper.o -o prog")).fine();
        works(&place, "prog");
    }
    let symbols = place.shell("unseen-clang -fsanitize=address main.c helper.c -o p; nm p").fine().stdout;
    assert!(symbols.contains("__asan_init"));
}

#[test]
fn without_lto_any_linker_will_do() {
    let place = sources();
    let off = [("UNSEEN_LTO", "off")];
    for flags in ["", "-O2 -fuse-ld=bfd"] {
        place.run_with(&format!("unseen-clang {flags} main.c helper.c -o prog"), &off).fine();
        works(&place, "prog");
    }
    place.run_with("unseen-clang -c main.c helper.c", &off).fine();
    place.run_with("unseen-clang main.o helper.o -o prog", &off).fine();
    assert_eq!(place.section("prog", ".unseen.inputs"), "unit main.o\nunit helper.o\n");
}

#[test]
fn fat_objects_are_instrumented_too() {
    let place = sources();
    place.run("unseen-clang -O2 -flto=auto -ffat-lto-objects -c main.c helper.c").fine();
    place.run("unseen-clang -O2 -flto=auto -ffat-lto-objects main.o helper.o -o prog").fine();
    assert!(place.instrumented("prog"));
}

#[test]
fn precompiled_headers_fit() {
    let place = Place::new();
    place.write("p.h", "static inline int p(void) { return 0; }\n");
    place.write("m.c", "int main(void) { return p(); }\n");
    place.run("unseen-clang -O2 -x c-header p.h -o p.h.pch").fine();
    place.run("unseen-clang -O2 -include-pch p.h.pch m.c -o prog").fine();
    place.run("./prog").fine();
    assert!(place.instrumented("prog"));
}

#[test]
fn the_compilers_death_is_ours_and_nothing_is_left_behind() {
    let place = sources();
    let tmp = place.path("tmp");
    std::fs::create_dir(&tmp).unwrap();
    let tmp = tmp.display().to_string();
    place.run_with("unseen-clang main.c helper.c -o prog", &[("TMPDIR", &tmp)]).fine();
    place.run_with("unseen-clang main.c -o prog2", &[("TMPDIR", &tmp)]).failed(1, &["undefined symbol: helper"]);
    // A link that waits for its input is ended by a signal to the wrapper alone. The compiler proper outlives its driver,
    // as it does without us, until it gets its input.
    let script = "mkfifo pipe; unseen-clang -x c pipe helper.c -o prog3 & wrapper=$!; sleep 1; kill -TERM $wrapper; \
                  wait $wrapper || echo died $?; exec 3<>pipe; exec 3>&-";
    let ran = finish_in(&place, script, &tmp);
    assert_eq!(ran, "died 143\n");
    // Links to which nothing is added: what stays bitcode, and what serves the build.
    let tmp_only = [("TMPDIR", tmp.as_str())];
    place.run_with("unseen-clang -r main.c helper.c -o both.o", &tmp_only).fine();
    place.run_with("unseen-clang main.c helper.c -o prog4", &[("TMPDIR", &tmp), ("UNSEEN_LINK", "plain")]).fine();
    place.write("m.rs", "//! ```\n//! assert_eq!(1, 1);\n//! ```\npub fn f() {}\n");
    place.write("p.rs", "");
    place.write("build.rs", "fn main() {}\n");
    place.run_with("unseen-rustc --crate-type proc-macro p.rs", &tmp_only).fine();
    let in_cargo = [("TMPDIR", tmp.as_str()), ("CARGO_PKG_NAME", "x")];
    place.run_with("unseen-rustc --crate-name build_script_build build.rs", &in_cargo).fine();
    place.write("Cargo.toml", "[package]\nname = \"m\"\nedition = \"2024\"\n[lib]\npath = \"m.rs\"\n[workspace]\n");
    assert!(place.run_with("cargo unseen test --doc", &tmp_only).fine().stdout.contains("1 passed"));
    let left: Vec<_> = std::fs::read_dir(&tmp).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert!(left.iter().all(|f| !f.to_string_lossy().starts_with("unseen-")), "{left:?}");
}

fn finish_in(place: &Place, script: &str, tmp: &str) -> String {
    let out = place.command("sh").args(["-c", script]).env("TMPDIR", tmp).output().unwrap();
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn many_compilers_at_once_do_not_meet() {
    let place = sources();
    let mut makefile = String::from("all:");
    for i in 0..12 {
        makefile.push_str(&format!(" prog{i}"));
    }
    makefile.push_str("\nprog%: main.c helper.c\n\t$(CC) -O1 main.c helper.c -o $@ && ./$@\n");
    place.write("Makefile", &makefile);
    place.shell("make -s -j6 CC=unseen-clang all").fine();
    for i in 0..12 {
        assert!(place.instrumented(&format!("prog{i}")));
    }
}

#[test]
fn the_header_is_found() {
    let place = Place::new();
    place.write("m.c", "#include <unseen.h>\nint main(void) { return 0; }\n");
    place.run("unseen-clang m.c -o prog").fine();
    place.run("unseen-clang -E m.c").fine();
}

/// Nothing is inlined where the link does not optimise.
#[test]
fn the_link_optimises_as_much_as_it_is_told() {
    let place = sources();
    let keeps_call = |name: &str, level: &[(&str, &str)]| {
        place.run_with(&format!("unseen-clang -O2 main.c helper.c -o {name}"), level).fine();
        place
            .run(&format!("llvm-objdump-22 -d {name}"))
            .fine()
            .stdout
            .lines()
            .any(|l| l.contains("call") && l.contains("helper"))
    };
    assert!(!keeps_call("optimised", &[]));
    assert!(keeps_call("as-written", &[("UNSEEN_LINK_LEVEL", "0")]));
}
