//! The walk along stacks, against the C library's own, in programs of all kinds.

mod support;
use support::{Bench, End, llvm, run, succeed, trial};

use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// What all programs share: `same()` walks in both ways and compares.
const SAME: &str = r#"
#include <execinfo.h>
#include "trial.h"
static int checks, deepest;
/* Both give the same return addresses; the first is here, and differs. */
__attribute__((noinline)) static void same(int line) {
  static uint64_t ours[64];
  static void *theirs[64];
  int n = __unseen_trial_walk(ours, 64), m = backtrace(theirs, 64);
  /* The C library's own lists this function too; where a stack has no end it has none either. */
  if (n < 0) n = -n;
  int wrong = n != m;
  for (int i = 1; i < n && i < m; i++) wrong |= ours[i] != (uint64_t)theirs[i];
  if (wrong) {
    dprintf(2, "line %d: %d frames, the C library has %d\n", line, n, m);
    for (int i = 0; i < n || i < m; i++)
      dprintf(2, "  %lx %lx\n", i < n ? (unsigned long)ours[i] : 0, i < m ? (unsigned long)theirs[i] : 0);
    abort();
  }
  checks++;
  if (n > deepest) deepest = n;
  __asm__ volatile("" ::: "memory");
}
"#;

fn source(bench: &Bench, name: &str, text: &str) -> PathBuf {
    let path = bench.path(name);
    fs::write(&path, format!("#define _GNU_SOURCE\n{text}")).unwrap();
    path
}

/// Builds with that compiler and those flags, and runs. Gives what it prints.
fn check(bench: &Bench, compiler: &str, file: &str, flags: &[&str]) -> String {
    let lld = llvm("ld.lld").get_program().to_owned();
    let program = bench.path("program");
    let include = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support");
    let mut command = llvm(compiler);
    command.arg(format!("--ld-path={}", std::path::Path::new(&lld).display())).args(["-w", "-I"]).arg(include);
    succeed(command.args(flags).arg(bench.path(file)).arg(trial()).arg("-o").arg(&program).arg("-pthread"));
    run(&mut Command::new(&program), End::Exit(0))
}

const LEVELS: [&str; 3] = ["-O0", "-O2", "-O3"];

#[test]
fn frames_of_c_are_those_of_the_c_library() {
    let bench = Bench::new();
    let body = r#"
    #define HERE same(__LINE__)
    struct big { char c[5000]; };
    __attribute__((noinline)) int leaf(int n) { HERE; return n + 1; }
    __attribute__((noinline)) int many(int a, long b, double c, int d, int e, int f, int g, struct big h) {
      volatile char room[3000]; room[0] = a; HERE; return leaf(a + b + c + d + e + f + g) + room[0] + h.c[3];
    }
    __attribute__((noinline)) int variable(int n) { volatile char room[n]; room[n - 1] = 1; HERE; return leaf(n) + room[n - 1]; }
    __attribute__((noinline)) int aligned(int n) {
      _Alignas(64) volatile char room[256]; room[3] = 2; HERE; return variable(n + 9) + room[3];
    }
    __attribute__((noinline)) int deep(int n) { if (n == 0) { HERE; return 0; } int r = deep(n - 1) + 1; HERE; return r; }
    static int compare(const void *a, const void *b) { HERE; return *(int *)a - *(int *)b; }
    static void *thread(void *p) { struct big b = {{0}}; many(1, 2, 3, 4, 5, 6, 7, b); return p; }
    static void handler(int s) { HERE; }
    __attribute__((noreturn, noinline)) static void last(void) { HERE; printf("%d %d\n", checks, deepest); exit(0); }
    int main(void) {
      struct big b = {{0}};
      many(1, 2, 3, 4, 5, 6, 7, b);
      aligned(3);
      deep(20);
      int all[] = {5, 3, 9, 1};
      qsort(all, 4, sizeof *all, compare);
      pthread_t t;
      pthread_create(&t, 0, thread, 0);
      pthread_join(t, 0);
      signal(SIGUSR1, handler);
      raise(SIGUSR1);
      last();
    }"#;
    source(&bench, "a.c", &format!("{SAME}{body}"));
    for level in LEVELS {
        for form in [&["-pie", "-fPIE"][..], &["-no-pie", "-fno-pie"], &["-static"], &["-static-pie", "-fPIE"]] {
            let flags = [&[level, "-fomit-frame-pointer"][..], form].concat();
            let printed = check(&bench, "clang", "a.c", &flags);
            let [checks, deepest] = *printed.split_whitespace().map(|n| n.parse::<u32>().unwrap()).collect::<Vec<_>>()
            else {
                panic!("{printed}")
            };
            assert!(checks >= 34 && deepest >= 20, "{flags:?}: {printed}");
        }
    }
}

#[test]
fn frames_of_cpp_are_those_of_the_c_library() {
    let bench = Bench::new();
    let body = r#"
    #include <algorithm>
    #include <functional>
    #include <stdexcept>
    #include <string>
    #include <vector>
    struct Base { virtual int f(int) = 0; virtual ~Base() { same(__LINE__); } };
    struct Derived : Base { __attribute__((noinline)) int f(int n) override { same(__LINE__); if (n > 2) throw std::runtime_error("x"); return n; } };
    __attribute__((noinline)) static int call(Base &b, int n) {
      std::string text(100, 'x');
      try { return b.f(n) + (int)text.size(); } catch (const std::exception &e) { same(__LINE__); return -1; }
    }
    int main() {
      Derived d;
      for (int i = 0; i < 5; i++) call(d, i);
      std::vector<int> v{3, 1, 2};
      std::sort(v.begin(), v.end(), [](int a, int b) { same(__LINE__); return a < b; });
      std::function<int(int)> f = [&](int n) { same(__LINE__); return n ? f(n - 1) : call(d, 9); };
      f(6);
      printf("%d %d\n", checks, deepest);
    }"#;
    source(&bench, "a.cpp", &format!("{SAME}{body}"));
    for level in LEVELS {
        let printed = check(&bench, "clang++", "a.cpp", &[level, "-fomit-frame-pointer"]);
        assert!(printed.split(' ').next().unwrap().parse::<u32>().unwrap() > 15, "{printed}");
    }
}

#[test]
fn frames_of_rust_are_those_of_the_c_library() {
    let bench = Bench::new();
    let lib = r#"
    #[inline(never)]
    fn down(n: u32, f: &mut dyn FnMut(u32)) -> u32 { f(n); if n == 0 { 0 } else { down(n - 1, f) + 1 } }
    unsafe extern "C" { fn same_here(); }
    fn main() {
        let mut sum = 0;
        down(8, &mut |n| { sum += n; unsafe { same_here() } });
        let mut list = vec![4, 2, 3];
        list.sort_by(|a: &i32, b| { unsafe { same_here() }; a.cmp(b) });
        std::thread::spawn(|| { let _ = std::panic::catch_unwind(|| { down(2, &mut |_| unsafe { same_here() }); panic!("x") }); }).join().unwrap();
        println!("{sum}");
    }"#;
    source(&bench, "same.c", &format!("{SAME}\nvoid same_here(void) {{ same(0); }}"));
    fs::write(bench.path("a.rs"), lib).unwrap();
    let include = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support");
    let object = bench.path("same.o");
    let mut clang = llvm("clang");
    succeed(
        clang.args(["-w", "-O1", "-fPIC", "-c", "-I"]).arg(include).arg(bench.path("same.c")).arg("-o").arg(&object),
    );
    for level in ["0", "3"] {
        let program = bench.path("program");
        let mut rustc = Command::new("rustc");
        rustc.args(["-A", "warnings", "--edition", "2024", "-C", &format!("opt-level={level}"), "-o"]).arg(&program);
        rustc.arg(bench.path("a.rs"));
        for file in [object.as_path(), trial()] {
            rustc.arg("-C").arg(format!("link-arg={}", file.display()));
        }
        succeed(&mut rustc);
        assert_eq!(run(&mut Command::new(&program), End::Exit(0)), "36\n");
    }
}

#[test]
fn a_stack_is_walked_from_where_a_signal_came() {
    let bench = Bench::new();
    let body = r#"
    static uint64_t ours[64];
    static int count;
    volatile int sink;
    static sigjmp_buf back;
    static void handler(int s, siginfo_t *i, void *context) {
      count = __unseen_trial_walk_trapped(context, ours, 64);
      siglongjmp(back, 1);
    }
    static int has(void *f, int at, int length) { return at < (count < 0 ? -count : count) && ours[at] - (uint64_t)f < (uint64_t)length; }
    __attribute__((noinline)) int crash(volatile int *p) { int n = *p; return n + 1; }
    __attribute__((noinline)) int jump(int (*volatile f)(int)) { return f(3) + 1; }
    __attribute__((noinline)) int lost(void) { int n = jump((int (*)(int))0x1234); return n + 1; }
    __attribute__((noinline)) int in_libc(volatile char *p) { int n = strlen((char *)p); return n + 1; }
    __attribute__((noinline)) int endless(volatile int n) { volatile char room[1000]; room[0] = n; return endless(n + 1) + room[0]; }
    int main(void) {
      static char stack[1 << 16];
      stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
      sigaltstack(&other, 0);
      struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
      sigaction(SIGSEGV, &a, 0);
      if (!sigsetjmp(back, 1)) crash((int *)8);
      CHECK(has(crash, 0, 64) && has(main, 1, 2000) && count > 2);
      if (!sigsetjmp(back, 1)) lost();
      /* Nothing lies at the address that was called; who called it is known still. */
      CHECK(ours[0] == 0x1234 && has(jump, 1, 64) && has(lost, 2, 64) && has(main, 3, 2000));
      if (!sigsetjmp(back, 1)) sink = in_libc((char *)16);
      int i = 0;
      while (i < count && !has(in_libc, i, 64)) i++;
      CHECK(i > 0 && i < 3 && has(main, i + 1, 2000));
      if (!sigsetjmp(back, 1)) endless(1);
      CHECK(count == -64 && has(endless, 0, 100) && has(endless, 63, 100));
    }"#;
    source(&bench, "a.c", &format!("{SAME}\n#include <setjmp.h>\n{body}"));
    for level in ["-O0", "-O1"] {
        check(&bench, "clang", "a.c", &[level, "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-fno-builtin"]);
    }
}

#[test]
fn a_test_that_fails_tells_who_called_it_and_where_it_was() {
    let bench = Bench::new();
    let body = r#"
    /* The address of a frame in a text of frames; 0 if there are fewer. `base` is where the program was loaded. */
    extern char __ehdr_start[];
    static uint64_t frame(const char *text, int n) {
      while (n-- && text) { text = strchr(text, ' '); if (text) text++; }
      char *end;
      if (!text || strtoul(text, &end, 16) > 9 || *end != ':') return 0;
      return strtoul(end + 1, 0, 16);
    }
    static int in(const char *text, int n, void *f, uint64_t length) {
      uint64_t at = frame(text, n);
      return at && at + (uint64_t)__ehdr_start - (uint64_t)f < length;
    }
    __attribute__((noinline)) int failing(void) { return 0; }
    __attribute__((noinline)) int crashing(void) { *(volatile int *)8 = 1; return 1; }
    __attribute__((noinline)) int recursing(volatile int n) { volatile char room[1000]; room[0] = n; return recursing(n + 1) + room[0]; }
    __attribute__((noinline)) int recurses(void) { return recursing(1) + 1; }
    __attribute__((noinline)) int freeing(void) { free((void *)0x123456); return 1; }
    __attribute__((noinline)) int hanging(void) { for (volatile int i = 0;; i++) {} }
    __attribute__((noinline)) int asking(void) { return socket_(); }
    __attribute__((noinline)) const struct report *ask(int (*body)(void)) {
      static uint32_t count;
      int side = __unseen_trial_split(&limits, ++count % 64, scratch);
      if (side == TEST) __unseen_trial_leave(body());
      CHECK(side == HOST);
      return await(count % 64);
    }
    __attribute__((noinline)) const struct report *outer(int (*body)(void)) { const struct report *r = ask(body); CHECK(r); return r; }
    static int is_called(const struct report *r) {
      return in(r->callers, 0, ask, 400) && in(r->callers, 1, outer, 200) && in(r->callers, 2, main, 2000) && strstr(r->modules, "program\n");
    }
    int main(void) {
      prctl(PR_SET_NAME, "a-caller");
      const struct report *r = outer(failing);
      EXPECT(r, FAIL);
      CHECK(is_called(r) && !*r->place && !strstr(r->callers, "..."));
      CHECK(r->thread == getpid() && !strcmp(r->thread_name, "a-caller"));
      r = outer(crashing); EXPECT(r, CRASH);
      CHECK(is_called(r) && in(r->place, 0, crashing, 64) && in(r->place, 1, ask, 400));
      r = outer(recurses); EXPECT(r, CRASH);
      CHECK(is_called(r) && in(r->place, 0, recursing, 100) && in(r->place, 31, recursing, 100) && strstr(r->place, " ..."));
      r = outer(freeing); EXPECT(r, CRASH);
      int i = 0;
      while (i < 20 && !in(r->place, i, freeing, 64)) i++;
      CHECK(is_called(r) && i > 0 && i < 20 && strstr(r->modules, "libc.so"));
      limits.deadline_ns = 300000000;
      r = outer(hanging); EXPECT(r, TIMEOUT);
      CHECK(is_called(r) && in(r->place, 0, hanging, 64));
      limits.deadline_ns = 5000000000;
      r = outer(asking); EXPECT_WHY(r, "asked for socket");
      i = 0;
      while (i < 20 && !in(r->place, i, asking, 64)) i++;
      CHECK(is_called(r) && i > 0 && i < 20);
    }"#;
    let socket = "#include <sys/socket.h>\nstatic int socket_(void) { return socket(AF_INET, SOCK_STREAM, 0) >= 0; }\n";
    let main = "int main(void);";
    source(&bench, "a.c", &format!("#include \"trial.h\"\n{socket}{main}{body}"));
    for form in [&["-pie", "-fPIE"][..], &["-O0"]] {
        let flags = [&["-O1", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"][..], form].concat();
        check(&bench, "clang", "a.c", &flags);
    }
}
