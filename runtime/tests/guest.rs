//! The runtime is a guest: what it must not do to the program.

mod support;
use support::{Bench, End, Store, is_root, skip};

/// What the program prints with a store, and what it prints without, must be the same.
#[track_caller]
fn assert_unnoticed(body: &str) -> String {
    let source = format!(
        "#include \"module.h\"
        #include <dirent.h>
        #include <errno.h>
        #include <fcntl.h>
        #include <stdio.h>
        #include <sys/wait.h>
        #include <unistd.h>
        int main(void) {{ hit(1); {body}; }}"
    );
    let bench = Bench::new();
    let program = bench.build("program", &source, &[]);
    let store = Store::new();
    let with = store.run(&program, End::Exit(0));
    let without = support::run(store.command(&program).env("UNSEEN", "off"), End::Exit(0));
    assert_eq!(store.counts()[0].hits(), [1]);
    assert_eq!(with, without);
    with
}

#[test]
fn no_file_descriptor_is_left_open() {
    let list = "DIR *d = opendir(\"/proc/self/fd\"); for (struct dirent *e; (e = readdir(d));) puts(e->d_name)";
    assert_unnoticed(list);
    assert_unnoticed(&format!("if (fork()) {{ wait(0); _exit(0); }} {list}"));
}

#[test]
fn standard_streams_that_were_closed_stay_closed() {
    let bench = Bench::new();
    let program = bench.build(
        "program",
        "#include \"module.h\"
        #include <fcntl.h>
        int main(void) {
          hit(1);
          for (int fd = 0; fd < 3; fd++) if (fcntl(fd, F_GETFD) != -1) return 1;
          return open(\"/dev/null\", O_RDONLY);
        }",
        &[],
    );
    let store = Store::new();
    let mut shell = store.command("sh");
    support::run(shell.args(["-c", "exec \"$0\" <&- >&- 2>&-"]).arg(program), End::Exit(0));
    assert_eq!(store.only().hits(), [1]);
}

#[test]
fn a_program_that_closes_every_descriptor_is_recorded() {
    let store = Bench::new().run(
        "#define NO_CONSTRUCTOR
        #include \"module.h\"
        #include <unistd.h>
        static void close_all(void) { for (int fd = 0; fd < 1024; fd++) close(fd); }
        int main(void) {
          close_all();
          __unseen_abi_v1(&record);
          hit(1);
          close_all();
          hit(2);
        }",
        End::Exit(0),
    );
    assert_eq!(store.only().hits(), [1, 2]);
}

#[test]
fn errno_is_the_programs() {
    // With a store that works, and with one where everything fails.
    for dir in [None, Some("/proc/no/such/place")] {
        let bench = Bench::new();
        let program = bench.build(
            "program",
            "#define NO_CONSTRUCTOR
            #include \"module.h\"
            #include <errno.h>
            #include <sys/wait.h>
            #include <unistd.h>
            int main(void) {
              errno = 77;
              __unseen_abi_v1(&record);
              __unseen_active();
              __unseen_cover_reset();
              if (errno != 77) return 1;
              int pid = fork();
              if (errno != 77) return 2;
              __unseen_leave_v1(&record);
              if (errno != 77) return 3;
              int status;
              return pid && waitpid(pid, &status, 0) == pid ? status : 0;
            }",
            &[],
        );
        let store = Store::new();
        let mut command = store.command(program);
        if let Some(dir) = dir {
            command.env("UNSEEN_DIR", dir);
        }
        support::run(&mut command, End::Exit(0));
    }
}

#[test]
fn off_and_without_a_store_no_system_call_is_made() {
    let bench = Bench::new();
    // In the strict mode of seccomp everything but read, write and exit kills.
    let program = bench.build(
        "program",
        "#define NO_CONSTRUCTOR
        #include \"module.h\"
        #include <linux/seccomp.h>
        #include <sys/prctl.h>
        #include <sys/syscall.h>
        #include <unistd.h>
        int main(void) {
          if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) return 98;
          __unseen_abi_v1(&record);
          hit(1);
          __unseen_cover_reset();
          int active = __unseen_active();
          __unseen_leave_v1(&record);
          syscall(SYS_exit, active + 40);
        }",
        &[],
    );
    let store = Store::new();
    support::run(store.command(&program).env("UNSEEN", "off"), End::Exit(40));
    support::run(store.command(&program).env("UNSEEN_COVER", "off"), End::Exit(40));
    support::run(store.command(&program).env_remove("UNSEEN_DIR"), End::Exit(40));
    support::run(store.command(&program).env("UNSEEN_DIR", ""), End::Exit(40));
    assert!(store.is_empty());
    // The control: switched on, the same program is killed, so this test would notice.
    support::run(&mut store.command(&program), End::Signal(9));
}

#[test]
fn functions_the_program_puts_in_libcs_place_are_not_called() {
    let replaced = [
        ("malloc", "void *", "size_t n"),
        ("calloc", "void *", "size_t n, size_t m"),
        ("realloc", "void *", "void *p, size_t n"),
        ("free", "void", "void *p"),
        ("open", "int", "const char *p, int f, ..."),
        ("openat", "int", "int d, const char *p, int f, ..."),
        ("mkdir", "int", "const char *p, mode_t m"),
        ("close", "int", "int d"),
        ("read", "ssize_t", "int d, void *p, size_t n"),
        ("write", "ssize_t", "int d, const void *p, size_t n"),
        ("mmap", "void *", "void *p, size_t n, int a, int b, int c, off_t d"),
        ("getenv", "char *", "const char *p"),
        ("getpid", "pid_t", "void"),
        ("syscall", "long", "long n, ..."),
        ("memcpy", "void *", "void *p, const void *q, size_t n"),
        ("memmove", "void *", "void *p, const void *q, size_t n"),
        ("memset", "void *", "void *p, int b, size_t n"),
        ("memcmp", "int", "const void *p, const void *q, size_t n"),
        ("strlen", "size_t", "const char *p"),
        ("getauxval", "unsigned long", "unsigned long n"),
    ];
    let definitions: String =
        replaced.iter().map(|(name, result, params)| format!("{result} {name}({params}) {{ called(); }}\n")).collect();
    let bench = Bench::new();
    let program = bench.build(
        "program",
        &format!(
            "#define NO_CONSTRUCTOR
            #include \"module.h\"
            #include <stddef.h>
            #include <sys/stat.h>
            #include <sys/types.h>
            __attribute__((noreturn)) static void called(void) {{ __builtin_trap(); }}
            {definitions}
            /* Without libc's start-up, which may call them. */
            __attribute__((used)) static void run(void) {{
              __unseen_abi_v1(&record);
              hit(1);
              __unseen_leave_v1(&record);
              __asm__ volatile(\"syscall\" : : \"a\"(231), \"D\"(0));
            }}
            __attribute__((naked)) void _start(void) {{ __asm__(\"and $-16, %rsp; call run\"); }}"
        ),
        &["-nostartfiles", "-fno-builtin"],
    );
    let store = Store::new();
    store.run(&program, End::Exit(0));
    assert_eq!(store.only().hits(), [1]);
}

#[test]
fn a_file_size_limit_does_not_kill_the_program() {
    let bench = Bench::new();
    let program = bench.build("program", "#include \"module.h\"\nint main(void) { hit(1); return counters[1]; }", &[]);
    let limited = |blocks: u32, store: &Store| {
        let mut shell = store.command("bash");
        support::run(shell.args(["-c", &format!("ulimit -f {blocks} && exec \"$0\"")]).arg(&program), End::Exit(1));
    };
    // 4 KB are enough for the log, not for the counters; with 0 not even the log can be written.
    let store = Store::new();
    limited(4, &store);
    assert_eq!(store.counts(), []);
    let what = format!("counters of {}: setrlimit", program.display());
    assert_eq!(store.dropped(), [(what, "errno 27".into())]);
    let store = Store::new();
    limited(0, &store);
    assert_eq!((store.counts(), store.events()), (vec![], vec![]));
    let store = Store::new();
    limited(8, &store);
    assert_eq!(store.only().hits(), [1]);
}

#[test]
fn a_thread_with_the_smallest_stack_is_large_enough() {
    let store = Bench::new().run(
        "#define NO_CONSTRUCTOR
        #include \"module.h\"
        #include <pthread.h>
        static void *thread(void *p) { __unseen_abi_v1(&record); hit(1); return p; }
        int main(void) {
          pthread_attr_t attr;
          pthread_t id;
          pthread_attr_init(&attr);
          if (pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN)) return 98;
          if (pthread_create(&id, &attr, thread, 0)) return 97;
          return pthread_join(id, 0);
        }",
        End::Exit(0),
    );
    assert_eq!(store.only().hits(), [1]);
}

#[test]
fn a_hook_needs_less_than_two_kilobytes_of_stack() {
    let store = Bench::new().run(
        "#define NO_CONSTRUCTOR
        #include \"module.h\"
        #include <signal.h>
        #include <string.h>
        #include <unistd.h>
        static char stack[65536];
        static void handler(int n) { (void)n; __unseen_abi_v1(&record); hit(1); }
        int main(void) {
          stack_t where = {.ss_sp = stack, .ss_size = sizeof stack};
          struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
          if (sigaltstack(&where, 0) || sigaction(SIGUSR1, &action, 0)) return 98;
          /* The kernel's own frame is there too; how large it is depends on the processor. */
          memset(stack, 0x55, sizeof stack);
          raise(SIGUSR1);
          size_t untouched = 0;
          while (stack[untouched] == 0x55) untouched++;
          size_t used = sizeof stack - untouched;
          return used < 2048 + (size_t)sysconf(_SC_MINSIGSTKSZ) ? 0 : 1;
        }",
        End::Exit(0),
    );
    assert_eq!(store.only().hits(), [1]);
}

#[test]
fn hooks_work_in_signal_handlers() {
    let store = Bench::new().run(
        "#include \"module.h\"
        #include <signal.h>
        #include <sys/time.h>
        static volatile int active, ticks;
        static void handler(int n) { (void)n; __unseen_cover_reset(); active += __unseen_active(); hit(2); ticks++; }
        int main(void) {
          struct itimerval often = {{0, 200}, {0, 200}};
          signal(SIGALRM, handler);
          setitimer(ITIMER_REAL, &often, 0);
          while (ticks < 200) { hit(1); __unseen_cover_reset(); }
          return active != ticks;
        }",
        End::Exit(0),
    );
    assert_eq!(store.counts().len(), 1);
}

#[test]
fn interrupted_by_a_fast_timer_the_store_is_still_whole() {
    let store = Bench::new().run(
        "#define NO_CONSTRUCTOR
        #include \"module.h\"
        #include <signal.h>
        #include <sys/time.h>
        static void handler(int n) { (void)n; }
        int main(void) {
          struct itimerval often = {{0, 20}, {0, 20}};
          struct sigaction action = {.sa_handler = handler};
          sigaction(SIGALRM, &action, 0);
          setitimer(ITIMER_REAL, &often, 0);
          for (int i = 0; i < 200; i++) { __unseen_abi_v1(&record); hit(1); __unseen_leave_v1(&record); }
        }",
        End::Exit(0),
    );
    assert_eq!(store.counts().len() + store.dropped().len(), 200);
    assert!(store.dropped().len() < 10, "{:?}", store.dropped());
}

#[test]
fn a_set_user_id_program_does_not_write_where_its_caller_says() {
    if !is_root() {
        return skip("a set-user-id program of another user needs root");
    }
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let bench = Bench::new();
    let program = bench.build(
        "program",
        "#include \"module.h\"
        #include <unistd.h>
        int main(void) { hit(1); return geteuid() == 0 && getuid() == 65534 ? __unseen_active() : 98; }",
        &[],
    );
    let store = Store::new();
    let mode = |path: &std::path::Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    mode(program.parent().unwrap(), 0o755);
    mode(store.around(), 0o777);
    mode(&program, 0o4755);
    support::run(store.command(&program).uid(65534).gid(65534), End::Exit(0));
    assert!(store.is_empty());
    // The control: without that bit the same user records.
    mode(&program, 0o755);
    support::run(store.command(&program).uid(65534).gid(65534), End::Exit(98));
    assert_eq!(store.only().hits(), [1]);
}
