//! Forks that leave memory out: tests find what they keep, whoever touches the rest is told, and the program notices nothing.

mod support;
use support::{Bench, trial};

/// Builds a program with what it has at file scope and in `main`, and runs it, also by a user without rights. It says what is wrong, or
/// exits with 0. Gives its output.
#[track_caller]
fn host(declarations: &str, main: &str) -> String {
    let bench = Bench::new();
    let source = format!("#include \"trial.h\"\n{COMMON}\n{declarations}\nint main(void) {{ {main}; return 0; }}");
    let program = bench.link_with(&mut bench.clang(), "program", &source, &[], trial());
    bench.run_as_all(&program)
}

/// `PROJECT` is as `SANDBOX`, with a fork that keeps the first page of `place`. `large` gives memory with a number in each page.
const COMMON: &str = r#"
    enum { MB = 1 << 20, SIZE = 64 * MB };
    static volatile char *place;
    static size_t place_length = 4096;
    #define PROJECT(name, ...)                                                                   \
      static int name##_body(void) { __VA_ARGS__; return 1; }                                    \
      static const struct report *name(void) {                                                   \
        static uint32_t count;                                                                   \
        struct range keep = {place, place_length};                                               \
        int side = BUSY;                                                                         \
        for (int i = 0; i < 10000 && side == BUSY; i++) {                                        \
          if (i) pause_ms(1);                                                                    \
          side = __unseen_trial_project(&limits, count % 64, scratch, &keep, 1);                 \
        }                                                                                        \
        if (side == TEST) __unseen_trial_leave(name##_body());                                   \
        CHECK(side == HOST);                                                                     \
        return await(count++ % 64);                                                              \
      }
    static volatile char *large(size_t size) {
      char *p = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      CHECK(p != MAP_FAILED);
      for (size_t i = 0; i < size; i += 4096) p[i] = 1 + i / 4096 % 100;
      return p;
    }
    static int is_whole(volatile char *p, size_t size) {
      for (size_t i = 0; i < size; i += 4096) if (p[i] != (char)(1 + i / 4096 % 100)) return 0;
      return 1;
    }
    /* Ends the process with 0 if a fork has all of it. */
    static int child_has(volatile char *p, size_t size) {
      int status, child = fork();
      if (!child) _exit(!is_whole(p, size));
      return waitpid(child, &status, 0) == child && status == 0;
    }
    /* All areas that forks copy, and the kernel's flags for each. What a test and its supervisor share is not among them: who is killed
       may leave it behind. */
    static size_t areas(char *to, size_t room) {
      static char text[1 << 20];
      int fd = open("/proc/self/smaps", O_RDONLY);
      size_t n = 0, out = 0;
      for (ssize_t got; (got = read(fd, text + n, sizeof text - 1 - n)) > 0; n += got) {}
      close(fd);
      CHECK(n < sizeof text - 1);
      text[n] = 0;
      int is_shared = 0;
      for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        int is_head = strchr("0123456789abcdef", *line) != 0;
        if (!is_head && strncmp(line, "VmFlags", 7)) continue;
        if (is_head) is_shared = !memcmp(strchr(line, ' '), " rw-s", 5);
        if (is_shared) continue;
        CHECK(out + (end - line) + 1 < room);
        memcpy(to + out, line, end - line + 1);
        out += end - line + 1;
      }
      to[out] = 0;
      return out;
    }
    static char before[1 << 19], after[1 << 19];
    #define SAME() (areas(after, sizeof after), strcmp(before, after) == 0)
"#;

#[test]
fn what_is_kept_is_there_and_a_touch_of_the_rest_is_a_miss() {
    host(
        r#"
        static volatile char *all, *far;
        PROJECT(reads, return all[20 * MB] == (char)(1 + 20 * MB / 4096 % 100))
        PROJECT(writes, all[20 * MB + 8] = 7; return all[20 * MB + 8] == 7)
        PROJECT(strays, return *far)
        PROJECT(strays_writing, *far = 1)
        PROJECT(crashes, *(volatile char *)0x1238 = 1)
        PROJECT(fails, return 0)
        PROJECT(aborts, abort())
        PROJECT(allocates, char *p = malloc(200 * MB); memset(p, 1, 200 * MB);
          char *q = mmap(0, 16 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
          memset(q, 2, 16 * MB);
          q = mremap(q, 16 * MB, 32 * MB, MREMAP_MAYMOVE); q[32 * MB - 1] = 1;
          return !mprotect(q, 4096, PROT_READ) && p[200 * MB - 1] == 1 && q[5000] == 2)
        PROJECT(allocates_and_strays, char *p = malloc(200 * MB); memset(p, 1, 200 * MB); return *far)
        PROJECT(unprotects, return mprotect((void *)all, SIZE, PROT_READ | PROT_WRITE) == 0)
        PROJECT(moves, return mremap((void *)far, 4096, 8192, MREMAP_MAYMOVE) != MAP_FAILED)
        SANDBOX(strays_in_all, *far = 1; return *far && mprotect((void *)all, SIZE, PROT_READ | PROT_WRITE) == 0)"#,
        r#"
        all = large(SIZE);
        place = all + 20 * MB;
        limits.memory_bytes = 1 << 30;
        const struct report *r = reads();
        EXPECT(r, PASS); CHECK(r->left_out > SIZE - MB && r->left_out < SIZE);
        EXPECT(writes(), PASS);
        EXPECT(fails(), FAIL);
        r = crashes(); EXPECT(r, CRASH); CHECK(r->code == SIGSEGV && r->address == 0x1238);
        r = aborts(); EXPECT(r, CRASH); CHECK(r->code == SIGABRT);
        EXPECT(allocates(), PASS);
        static const long places[] = {0, 4096, 19 * MB, 21 * MB, 40 * MB + 5, SIZE - MB};
        for (int i = 0; i < 6; i++) {
          far = all + places[i];
          char text[40];
          sprintf(text, "outside its set, at 0x%lx;", (long)far);
          EXPECT_WHY(strays(), text);
          EXPECT_WHY(strays_writing(), text);
          EXPECT_WHY(allocates_and_strays(), text);
          r = strays_in_all(); EXPECT(r, PASS); CHECK(r->left_out == 0);
        }
        EXPECT_WHY(unprotects(), "outside its set, at 0x");
        EXPECT_WHY(moves(), "outside its set, at 0x");
        CHECK(is_whole(all, SIZE))"#,
    );
}

#[test]
fn a_test_of_little_memory_gets_all_and_many_pieces_are_kept() {
    host(
        "PROJECT(passes, return 1)",
        r#"
        const struct report *r = passes();
        EXPECT(r, PASS); CHECK(r->left_out == 0);
        volatile char *all = large(200 * MB);
        static struct range keep[104];
        for (int i = 0; i < 104; i++) keep[i] = (struct range){all + i * 1900000 + 100, 8};
        int side = __unseen_trial_project(&limits, 60, scratch, keep, 104);
        if (side == TEST) {
          for (int i = 0; i < 104; i++) *(volatile char *)keep[i].start = 1;
          __unseen_trial_leave(1);
        }
        CHECK(side == HOST);
        r = await(60);
        EXPECT(r, PASS); CHECK(r->left_out > 30 * MB);
        CHECK(is_whole(all, 200 * MB) && child_has(all, 200 * MB))"#,
    );
}

#[test]
fn heaps_are_left_out_too() {
    let output = host(
        r#"
        static char **all;
        enum { COUNT = 600000 };
        PROJECT(reads, return place[0] == 'x')
        PROJECT(allocates, char *p = malloc(100); memset(p, 1, 100); return 1)
        PROJECT(strays, return all[COUNT / 4][0])"#,
        r#"
        /* Small blocks, all in the area that grows by brk. */
        all = malloc(COUNT * sizeof *all);
        for (int i = 0; i < COUNT; i++) { all[i] = malloc(100); memset(all[i], 'x', 100); }
        place = all[COUNT / 2];
        place_length = 100;
        const struct report *r = reads();
        EXPECT(r, PASS); CHECK(r->left_out > 50 * MB);
        EXPECT_WHY(strays(), "outside its set");
        r = allocates();
        printf("a test that allocates: %s %s\n", outcome_name(r), r->why);
        CHECK(r->outcome == PASS || strstr(r->why, "outside its set"));
        for (int i = 0; i < COUNT; i++) CHECK(all[i][99] == 'x')"#,
    );
    eprintln!("{output}");
}

#[test]
fn handlers_for_faults_do_not_hide_a_miss() {
    host(
        r#"
        #include <setjmp.h>
        static volatile char *all;
        static sigjmp_buf back;
        static void on(int s) { (void)s; siglongjmp(back, 1); }
        static volatile int sent;
        static void count(int s) { (void)s; sent++; }
        PROJECT(strays, return sigsetjmp(back, 1) || all[MB])
        PROJECT(faults, if (!sigsetjmp(back, 1)) { *(volatile int *)0x1238 = 1; return 0; } return 1)
        PROJECT(raises, raise(SIGSEGV); return sent == 1)
        PROJECT(asks_for_one, signal(SIGSEGV, on); return 1)
        PROJECT(asks_for_another, return signal(SIGUSR1, on) != SIG_ERR)"#,
        r#"
        all = large(SIZE);
        place = all;
        EXPECT_WHY(asks_for_one(), "needed memory outside its set");
        EXPECT(asks_for_another(), PASS);
        signal(SIGSEGV, count);
        EXPECT(raises(), PASS);
        static char stack[64 << 10];
        sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, 0);
        sigaction(SIGSEGV, &(struct sigaction){.sa_handler = on, .sa_flags = SA_ONSTACK}, 0);
        EXPECT_WHY(strays(), "outside its set");
        EXPECT(faults(), PASS)"#,
    );
}

/// Maps memory of all kinds, some of it with marks that are the program's own.
const KINDS: &str = r#"
    static volatile char *all, *marked, *half, *wiped, *locked;
    static void map_kinds(void) {
      all = large(SIZE);
      marked = large(8 * MB);
      CHECK(!madvise((void *)marked, 8 * MB, MADV_DONTFORK));
      half = large(8 * MB);
      CHECK(!madvise((void *)half, 4 * MB, MADV_DONTFORK));
      wiped = large(8 * MB);
      CHECK(!madvise((void *)wiped, 8 * MB, MADV_WIPEONFORK));
      locked = large(2 * MB);
      mlock((void *)locked, 64 << 10);
      place = all + 20 * MB;
      for (int i = 0; i < 2000; i++) *(volatile char *)malloc(2000) = 1;
      free(malloc(30 * MB));
    }"#;

#[test]
fn areas_and_marks_of_the_program_stay_as_they_are() {
    for (name, set_up) in [("asked", ""), ("read", "refuse(SYS_ioctl, 0, ENOTTY);")] {
        let declarations = format!(
            r#"#include "filter.h"
            {KINDS}
            PROJECT(reads, return place[0] != 0)
            PROJECT(strays, return half[6 * MB])
            PROJECT(touches_marked, return marked[4 * MB])"#
        );
        let main = format!(
            r#"
            {set_up}
            map_kinds();
            /* One stack for supervisors, not another because the last one is slow to go. */
            limits.at_once = 1;
            EXPECT(reads(), PASS);
            areas(before, sizeof before);
            CHECK(strstr(before, " dc "));
            for (int i = 0; i < 20; i++) {{
              const struct report *r = reads();
              EXPECT(r, PASS); CHECK(r->left_out > 64 * MB && r->left_out < 90 * MB);
              CHECK(SAME());
            }}
            EXPECT_WHY(strays(), "outside its set");
            EXPECT_WHY(touches_marked(), "not copied by a fork");
            place = half + 6 * MB; place_length = 2 * MB;
            EXPECT(strays(), PASS);
            CHECK(SAME());
            CHECK(child_has(all, SIZE) && child_has(half + 4 * MB, 0));
            int status, child = fork();
            if (!child) {{ volatile char c = marked[0]; (void)c; _exit(0); }}
            CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status))"#
        );
        eprintln!("areas are {name}");
        host(&declarations, &main);
    }
}

#[test]
fn with_as_many_areas_as_may_be_nothing_is_left_out_or_all_is_brought_back() {
    host(
        &format!("{KINDS} PROJECT(reads, return place[0] != 0)"),
        r#"
        map_kinds();
        limits.at_once = 1;
        EXPECT(reads(), PASS);
        FILE *f = fopen("/proc/sys/vm/max_map_count", "r");
        int most = 0;
        CHECK(f && fscanf(f, "%d", &most) == 1);
        fclose(f);
        if (most > 100000) return 0;
        /* Every other page can be read only. */
        char *many = mmap(0, (size_t)most * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        CHECK(many != MAP_FAILED);
        int made = 0;
        while (made < most / 2 && !mprotect(many + made * 8192l, 4096, PROT_NONE)) made++;
        /* A few of those that one more test needs. */
        uint64_t least = ~0ull, largest = 0;
        for (int free = 0; free < 12; free++) {
          CHECK(!mprotect(many + --made * 8192l, 4096, PROT_READ));
          struct range keep = {place, 4096};
          int side;
          while ((side = __unseen_trial_project(&limits, 60, scratch, &keep, 1)) == BUSY) pause_ms(1);
          if (side == TEST) __unseen_trial_leave(place[0] != 0);
          if (side != HOST) continue;
          uint64_t left_out = await(60)->left_out;
          if (left_out < least) least = left_out;
          if (left_out > largest) largest = left_out;
        }
        printf("between %lu and %lu bytes were left out\n", (unsigned long)least, (unsigned long)largest);
        CHECK(least < largest);
        munmap(many, (size_t)most * 4096);
        CHECK(child_has(all, SIZE) && child_has(wiped, 0));
        areas(before, sizeof before);
        EXPECT(reads(), PASS);
        CHECK(SAME() && child_has(all, SIZE))"#,
    );
}

#[test]
fn children_of_the_program_have_all_memory_whoever_makes_them() {
    let output = host(
        r#"
        static volatile char *all;
        static volatile int forks, lost;
        PROJECT(reads, return place[0] != 0)
        static void check(int child) {
          int status;
          if (!child) _exit(!is_whole(all, SIZE));
          CHECK(waitpid(child, &status, 0) == child);
          __atomic_fetch_add(&forks, 1, __ATOMIC_SEQ_CST);
          if (status) __atomic_fetch_add(&lost, 1, __ATOMIC_SEQ_CST);
        }
        static void *forker(void *p) {
          for (int i = 0; i < 12; i++) {
            check(fork());
            check((int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
            check(_Fork());
          }
          return p;
        }"#,
        r#"
        all = large(SIZE);
        place = all;
        int projected = 0, whole = 0;
        for (int round = 0; round < 4; round++) {
          pthread_t threads[2];
          for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, forker, 0);
          for (int i = 0, goal = forks + 60; forks < goal && i < 100; i++) {
            const struct report *r = reads();
            EXPECT(r, PASS);
            if (r->left_out) projected++; else whole++;
          }
          for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
          for (int i = 0; i < 10; i++) {
            const struct report *r = reads();
            EXPECT(r, PASS);
            if (r->left_out) projected++; else whole++;
            check(fork());
          }
        }
        printf("%d forks, %d lost memory; %d tests left some out, %d had all\n", forks, lost, projected, whole);
        CHECK(lost == 0); CHECK(projected >= 40 && whole >= 40)"#,
    );
    eprintln!("{output}");
}

#[test]
fn a_guest_in_the_memory_of_another_process_leaves_nothing_out() {
    host(
        "PROJECT(reads, return place[0] != 0)",
        r#"
        volatile char *all = large(SIZE);
        place = all;
        const struct report *r = reads();
        EXPECT(r, PASS); CHECK(r->left_out > 0);
        static volatile uint64_t guests = 1;
        int status, child = vfork();
        if (!child) { guests = reads()->left_out; _exit(0); }
        CHECK(waitpid(child, &status, 0) == child && status == 0 && guests == 0);
        /* A copy has memory of its own. */
        child = fork();
        if (!child) _exit(!(reads()->left_out > 0 && child_has(all, SIZE)));
        CHECK(waitpid(child, &status, 0) == child && status == 0)"#,
    );
}

#[test]
fn supervisors_may_be_killed_at_any_time() {
    let output = host(
        &format!("{KINDS} PROJECT(reads, return place[0] != 0)"),
        r#"
        map_kinds();
        /* All stacks that supervisors will have. */
        for (int i = 0; i < 4; i++) {
          int side = __unseen_trial_split(&limits, i, scratch);
          if (side == TEST) { pause_ms(100); __unseen_trial_leave(1); }
          CHECK(side == HOST);
        }
        for (int i = 0; i < 4; i++) EXPECT(await(i), PASS);
        areas(before, sizeof before);
        int program = getpid();
        int killer = fork();
        if (!killer) {
          prctl(PR_SET_PDEATHSIG, SIGKILL);
          char path[64], text[256];
          sprintf(path, "/proc/%d/task/%d/children", program, program);
          for (unsigned seed = 1;; seed = seed * 1103515245 + 12345) {
            int fd = open(path, O_RDONLY);
            ssize_t n = read(fd, text, 255);
            close(fd);
            if (n < 0) _exit(0);
            text[n] = 0;
            for (char *p = text; *p;) {
              int child = (int)strtol(p, &p, 10);
              if (child == getpid()) continue;
              if (child <= 0) break;
              for (volatile unsigned i = 0; i < (seed >> 16) % 20000; i++) {}
              kill(child, SIGKILL);
            }
          }
        }
        int started = 0, projected = 0;
        struct range keep = {place, 4096};
        for (int i = 0; i < 600; i++) {
          int side = BUSY;
          while (side == BUSY) side = __unseen_trial_project(&limits, i % 60, scratch, &keep, 1);
          if (side == TEST) __unseen_trial_leave(1);
          if (side == HOST) started++;
          /* Nobody forks here: what the kernel says now is what the program's children would have. */
          if (i % 20 == 0) {
            areas(after, sizeof after);
            CHECK(strlen(after) > 0);
            int marks = 0, expected = 0;
            for (char *p = before; (p = strstr(p, " dc ")); p++) expected++;
            for (char *p = after; (p = strstr(p, " dc ")); p++) marks++;
            CHECK(marks == expected);
          }
        }
        kill(killer, SIGKILL);
        waitpid(killer, 0, 0);
        __unseen_trial_end_all();
        int killed = __unseen_trial_count(ENVIRONMENT);
        for (int i = 0; i < 60; i++) projected += __unseen_trial_report(i)->left_out > 0;
        printf("%d tests were started, %d supervisors were killed; %d of the last 60 left memory out\n", started, killed, projected);
        CHECK(projected == 60 && killed > 10);
        CHECK(child_has(all, SIZE));
        EXPECT(reads(), PASS);
        CHECK(SAME())"#,
    );
    eprintln!("{output}");
}

#[test]
fn without_seccomp_tests_have_all_memory() {
    host(
        r#"
        #include "filter.h"
        PROJECT(passes, return 1)"#,
        r#"
        place = large(SIZE);
        refuse_filters();
        limits.strict = 0;
        EXPECT_WHY(passes(), "needed memory outside its set")"#,
    );
}

#[test]
fn static_programs_and_other_libcs() {
    let bench = Bench::new();
    let source = format!(
        "#include \"trial.h\"\n{COMMON}
        static volatile char *all;
        PROJECT(works, errno = 3; char *p = malloc(100); if (p) memset(p, 1, 100); printf(\"x\"); return place[0] && errno != 77)
        PROJECT(strays, return all[MB])
        int main(void) {{
          all = large(SIZE);
          place = all + 20 * MB;
          const struct report *r = works();
          EXPECT(r, PASS); CHECK(r->left_out > 60 * MB);
          EXPECT_WHY(strays(), \"outside its set\");
          CHECK(child_has(all, SIZE));
          return 0;
        }}"
    );
    let musl = || std::process::Command::new("musl-gcc");
    let has_musl = musl().arg("--version").output().is_ok();
    if !has_musl {
        support::skip("no musl-gcc");
    }
    let compilers = [(bench.clang(), "-static"), (musl(), "-static"), (musl(), "-O1")];
    for (mut compiler, flag) in compilers.into_iter().take(if has_musl { 3 } else { 1 }) {
        let program = bench.link_with(&mut compiler, "program", &source, &[flag], trial());
        support::run(std::process::Command::new(program).env("TRIAL", bench.path("")), support::End::Exit(0));
    }
}

#[test]
fn how_long_the_program_stands_still_is_printed() {
    let output = host(
        "SANDBOX(has_all, return 1)
        PROJECT(has_part, return 1)
        static int compare(const void *a, const void *b) { return *(uint64_t *)a > *(uint64_t *)b ? 1 : -1; }
        enum { COUNT = 15 };",
        r#"
        static const int sizes[] = {0, 10, 100, 1000};
        for (int s = 0; s < 4; s++) {
          volatile char *p = sizes[s] ? large((size_t)sizes[s] * MB) : 0;
          place = p ? p : (volatile char *)&place;
          uint64_t stalls[2][COUNT];
          for (int i = 0; i < COUNT; i++)
            for (int part = 0; part < 2; part++) {
              const struct report *r = part ? has_part() : has_all();
              EXPECT(r, PASS);
              CHECK(!part || sizes[s] < 100 || r->left_out > (uint64_t)sizes[s] * MB * 9 / 10);
              stalls[part][i] = r->stall_ns;
            }
          for (int part = 0; part < 2; part++) {
            qsort(stalls[part], COUNT, 8, compare);
            printf("%4d MB touched, %s: stands still for %lu us (least %lu, most %lu)\n", sizes[s], part ? "a part" : "all   ",
                   (unsigned long)stalls[part][COUNT / 2] / 1000, (unsigned long)stalls[part][0] / 1000,
                   (unsigned long)stalls[part][COUNT - 1] / 1000);
          }
          if (p) munmap((void *)p, (size_t)sizes[s] * MB);
        }"#,
    );
    eprintln!("{output}");
}
