//! Every way in which a program can be linked with the runtime.

mod support;
use std::process::Command;
use support::{Bench, End, Store, skip, succeed};

/// Hits 1, forks; the child hits 2.
const FORKING: &str = "
    #include \"module.h\"
    #include <sys/wait.h>
    #include <unistd.h>
    int main(void) {
      hit(1);
      if (fork() == 0) { hit(2); _exit(0); }
      wait(0);
      return __unseen_active();
    }";

/// Built with these flags, the program and its child are recorded, each in its file.
#[track_caller]
fn records(compiler: Option<&mut Command>, flags: &[&str]) {
    let bench = Bench::new();
    let program = match compiler {
        Some(compiler) => bench.build_with(compiler, "program", FORKING, flags),
        None => bench.build("program", FORKING, flags),
    };
    let store = Store::new();
    store.run(&program, End::Exit(1));
    let [parent, child] = &store.counts()[..] else { panic!("{flags:?}: {:?}", store.counts()) };
    assert_eq!((parent.hits(), child.hits()), (vec![1], vec![2]), "{flags:?}");
    assert_eq!((&parent.path, &child.path), (&program, &program), "{flags:?}");
    // The same without recording.
    support::run(store.command(&program).env("UNSEEN", "off"), End::Exit(0));
    assert_eq!(store.counts().len(), 2);
}

#[test]
fn position_independent_executables() {
    records(None, &["-pie", "-fPIE"]);
    records(None, &["-pie", "-fPIE", "-Wl,-z,now", "-Wl,-z,relro", "-Wl,--gc-sections", "-Wl,--icf=all"]);
}

#[test]
fn fixed_executables() {
    records(None, &["-no-pie", "-fno-pic"]);
}

#[test]
fn static_executables() {
    records(None, &["-static"]);
    records(None, &["-static", "-Wl,--gc-sections", "-Wl,-s"]);
}

#[test]
fn static_position_independent_executables() {
    records(None, &["-static-pie", "-fPIE"]);
}

#[test]
fn link_time_optimised_executables() {
    records(None, &["-flto=full", "-O2"]);
    records(None, &["-flto=full", "-O2", "-static"]);
}

#[test]
fn gcc_and_gnu_ld() {
    if Command::new("gcc").arg("--version").output().is_err() {
        return skip("there is no gcc");
    }
    records(Some(&mut Command::new("gcc")), &[]);
    records(Some(&mut Command::new("gcc")), &["-no-pie"]);
    records(Some(&mut Command::new("gcc")), &["-static"]);
    records(Some(&mut Command::new("gcc")), &["-static-pie", "-Wl,--gc-sections"]);
}

#[test]
fn musl() {
    if Command::new("musl-gcc").arg("--version").output().is_err() {
        return skip("there is no musl-gcc (package musl-tools)");
    }
    // In a static musl nothing but a use pulls pthread_atfork out of the library: without it children share.
    records(Some(&mut Command::new("musl-gcc")), &["-static", "-Wl,-u,pthread_atfork"]);
    let bench = Bench::new();
    let program = bench.build_with(&mut Command::new("musl-gcc"), "program", FORKING, &["-static"]);
    let store = Store::new();
    store.run(&program, End::Exit(1));
    assert_eq!(store.only().hits(), [1, 2]);
    records(Some(&mut Command::new("musl-gcc")), &[]);
}

/// No libc, no start-up files, no environment but the kernel's; the program calls its constructor itself.
const FREESTANDING: &str = "
    #define NO_CONSTRUCTOR
    #include \"module.h\"
    static long call(long n, long a, long b) {
      long r;
      __asm__ volatile(\"syscall\" : \"=a\"(r) : \"a\"(n), \"D\"(a), \"S\"(b), \"d\"(0L) : \"rcx\", \"r11\", \"memory\");
      return r;
    }
    __attribute__((used)) static void run(void) {
      __unseen_abi_v1(&record);
      hit(1);
      long pid = call(57, 0, 0);
      if (pid == 0) { hit(2); call(231, 0, 0); }
      long r;
      __asm__ volatile(\"mov $0, %%r10d; syscall\" : \"=a\"(r) : \"a\"(61L), \"D\"(pid), \"S\"(0L), \"d\"(0L)
                       : \"rcx\", \"r10\", \"r11\", \"memory\");
      hit(3);
      __unseen_leave_v1(&record);
      call(231, __unseen_active(), 0);
    }
    __attribute__((naked)) void _start(void) { __asm__(\"xor %ebp, %ebp; and $-16, %rsp; call run\"); }";

#[test]
fn programs_without_libc() {
    let bench = Bench::new();
    for (name, flags) in [
        ("static", &["-nostdlib", "-ffreestanding", "-fno-stack-protector", "-static"][..]),
        ("pie", &["-nostdlib", "-ffreestanding", "-fno-stack-protector", "-pie", "-fPIE"]),
    ] {
        let program = bench.build(name, FREESTANDING, flags);
        let store = Store::new();
        store.run(&program, End::Exit(0));
        let counts = store.only();
        assert_eq!((counts.hits(), counts.path), (vec![1, 2, 3], program.clone()), "{name}");
        let store = Store::new();
        support::run(store.command(&program).env("UNSEEN", "off"), End::Exit(0));
        assert!(store.is_empty(), "{name}");
        // An environment larger than any one read of the kernel's.
        let mut command = store.command(&program);
        for i in 0..20 {
            command.env(format!("LARGE{i}"), "x".repeat(50_000));
        }
        support::run(&mut command, End::Exit(0));
        assert_eq!(store.only().hits(), [1, 2, 3], "{name}");
    }
}

#[test]
fn programs_without_libc_linked_by_gnu_ld() {
    if Command::new("gcc").arg("--version").output().is_err() {
        return skip("there is no gcc");
    }
    let bench = Bench::new();
    for (name, mode) in [("static", "-static"), ("pie", "-pie"), ("fixed", "-no-pie")] {
        let flags = ["-nostdlib", "-ffreestanding", "-fno-stack-protector", mode];
        let program = bench.build_with(&mut Command::new("gcc"), name, FREESTANDING, &flags);
        let store = Store::new();
        store.run(&program, End::Exit(0));
        assert_eq!(store.only().hits(), [1, 2, 3], "{name}");
    }
}

#[test]
fn a_program_without_instrumentation_takes_nothing_out_of_the_archive() {
    let bench = Bench::new();
    let plain = bench.build("plain", "int main(void) { return 5; }", &[]);
    let symbols = succeed(support::llvm("llvm-nm").arg(&plain));
    assert!(!symbols.contains("unseen"), "{symbols}");
    let store = Store::new();
    store.run(&plain, End::Exit(5));
    assert!(store.is_empty());
}

#[test]
fn the_runtime_brings_no_writable_code_and_no_text_relocation() {
    let bench = Bench::new();
    let program = bench.build("program", FORKING, &["-pie", "-fPIE", "-Wl,-z,text", "-Wl,-z,noexecstack"]);
    let headers = succeed(support::llvm("llvm-readelf").args(["--program-headers", "--dynamic-table"]).arg(program));
    assert!(!headers.contains("RWE") && !headers.contains("TEXTREL"), "{headers}");
}

#[test]
fn a_removed_executable_keeps_its_name() {
    let bench = Bench::new();
    let program = bench.build(
        "program",
        "#define NO_CONSTRUCTOR
        #include \"module.h\"
        #include <unistd.h>
        int main(int argc, char **argv) { (void)argc; unlink(argv[0]); __unseen_abi_v1(&record); hit(1); }",
        &[],
    );
    let store = Store::new();
    store.run(&program, End::Exit(0));
    assert!(!program.exists());
    assert_eq!(store.only().path, program);
}
