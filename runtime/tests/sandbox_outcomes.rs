//! What becomes of a test, in all the ways in which it can go wrong, and what becomes of the program meanwhile.

mod support;
use support::{Bench, End, run, skip, trial};

use std::path::PathBuf;
use std::process::Command;

/// A program with what it has at file scope and in `main`.
#[track_caller]
fn build(bench: &Bench, compiler: &mut Command, flags: &[&str], declarations: &str, main: &str) -> PathBuf {
    let source = format!(
        "#include \"trial.h\"\n{declarations}\nint main(int argc, char **argv) {{ (void)argc, (void)argv; {main}; return 0; }}"
    );
    bench.link_with(compiler, "program", &source, flags, trial())
}

/// Builds and runs one, which says what is wrong, or exits with 0.
#[track_caller]
fn host(declarations: &str, main: &str) -> String {
    let bench = Bench::new();
    let program = build(&bench, &mut bench.clang(), &[], declarations, main);
    bench.run_as_all(&program)
}

#[test]
fn each_end_has_its_outcome() {
    host(
        r#"
        static int depth(volatile int n) { volatile char room[1000]; room[0] = 1; return n ? depth(n + 1) + room[0] : 0; }
        static void *ends(void *p) { _exit(4); return p; }
        SANDBOX(passes, return 1)
        SANDBOX(fails, puts("why"); fflush(stdout); return 0)
        SANDBOX(exits, exit(3))
        SANDBOX(thread_exits, pthread_t t; pthread_create(&t, 0, ends, 0); pause())
        SANDBOX(leaves_thread, pthread_exit(0))
        SANDBOX(faults, *(volatile int *)0x1238 = 1)
        SANDBOX(aborts, abort())
        SANDBOX(divides, volatile int zero = 0; return 7 / zero)
        SANDBOX(traps, __builtin_trap())
        SANDBOX(recurses, return depth(1))
        SANDBOX(terminates, raise(SIGTERM))
        SANDBOX(is_killed, raise(SIGKILL))
        SANDBOX(closes_all, for (int fd = 0; fd < 1024; fd++) close(fd))
        SANDBOX(closes_all_and_fails, close_range(0, ~0u, 0); return 0)"#,
        r#"
        EXPECT(passes(), PASS);
        const struct report *r = fails();
        EXPECT(r, FAIL);
        CHECK(r->code == ~0u && r->output_length == 4 && !memcmp(r->output, "why\n", 4));
        r = exits(); EXPECT(r, FAIL); CHECK(r->code == 3);
        r = thread_exits(); EXPECT(r, FAIL); CHECK(r->code == 4);
        r = leaves_thread(); EXPECT(r, FAIL); CHECK(r->code == 0);
        r = faults(); EXPECT(r, CRASH); CHECK(r->code == SIGSEGV && r->address == 0x1238);
        r = aborts(); EXPECT(r, CRASH); CHECK(r->code == SIGABRT && r->address == 0);
        r = divides(); EXPECT(r, CRASH); CHECK(r->code == SIGFPE && r->address != 0);
        r = traps(); EXPECT(r, CRASH); CHECK(r->code == SIGILL || r->code == SIGTRAP);
        r = recurses(); EXPECT(r, CRASH);
        char *here = (char *)&r;
        CHECK(r->code == SIGSEGV && (char *)r->address < here && (char *)r->address > here - (9 << 20));
        r = terminates(); EXPECT(r, CRASH); CHECK(r->code == SIGTERM);
        EXPECT_WHY(is_killed(), "killed from outside by signal 9");
        EXPECT(closes_all(), PASS);
        EXPECT(closes_all_and_fails(), FAIL)"#,
    );
}

#[test]
fn a_test_that_writes_wildly_harms_itself_alone() {
    host(
        r#"
        static char data[1 << 16] = {1};
        /* All that can be written, the libraries' own and ours included. */
        static void destroy(void) {
          static char line[512];
          FILE *maps = fopen("/proc/self/maps", "r");
          static struct { char *start, *end; } all[400];
          int n = 0;
          while (n < 400 && fgets(line, sizeof line, maps))
            if (strstr(line, " rw-") && !strstr(line, "[stack]"))
              n += 2 == sscanf(line, "%p-%p", (void **)&all[n].start, (void **)&all[n].end);
          volatile char *own = (char *)all;
          for (int i = n - 1; i >= 0; i--)
            for (volatile char *p = all[i].start; p < all[i].end; p++)
              if (p < own || p >= own + sizeof all) *p = 0x5a;
        }
        SANDBOX(destroys, destroy())"#,
        r#"
        limits.deadline_ns = 2000000000;
        for (int i = 0; i < 3; i++) {
          const struct report *r = destroys();
          CHECK(r->outcome != PASS);
          for (unsigned j = 1; j < sizeof data; j++) CHECK(!data[j]);
          free(malloc(1000));
        }"#,
    );
}

#[test]
fn time_memory_and_files_have_limits() {
    host(
        r#"
        SANDBOX(spins, for (volatile int i = 0;; i++) {})
        SANDBOX(sleeps, for (;;) pause())
        SANDBOX(stops, raise(SIGSTOP))
        static char *volatile kept;
        SANDBOX(leaks, for (;;) { char *p = malloc(1 << 20); if (!p) return 0; memset(p, 1, 1 << 20); kept = p; })
        SANDBOX(leaks_and_crashes, for (;;) { char *p = malloc(1 << 20); p[0] = 1; kept = p; })
        SANDBOX(allocates, char *p = malloc(32 << 20); memset(p, 1, 32 << 20); kept = p; return 1)
        SANDBOX(floods, char b[4096] = {0}; for (;;) if (write(1, b, 4096) < 0) return 0)
        SANDBOX(prints_much, for (int i = 0; i < 100000; i++) printf("%d\n", i); fflush(stdout))"#,
        r#"
        limits.deadline_ns = 300000000;
        double start = now();
        EXPECT(spins(), TIMEOUT);
        EXPECT(sleeps(), TIMEOUT);
        EXPECT(stops(), TIMEOUT);
        CHECK(now() - start > 0.9 && now() - start < 9);
        limits.deadline_ns = 20000000000;
        limits.cpu_seconds = 1;
        const struct report *r = spins();
        EXPECT(r, TIMEOUT);
        /* The kernel counts coarsely for limits. */
        CHECK(r->cpu_ns > 200000000 && r->cpu_ns < 3000000000);
        limits.memory_bytes = 64 << 20;
        EXPECT_WHY(leaks(), "used up its memory");
        EXPECT_WHY(leaks_and_crashes(), "used up its memory");
        EXPECT(allocates(), PASS);
        EXPECT_WHY(floods(), "wrote more than it may");
        r = prints_much();
        EXPECT(r, PASS);
        CHECK(strstr(r->output, "99999\n"))"#,
    );
}

#[test]
fn a_lock_that_nobody_will_unlock_is_the_environments_fault() {
    host(
        r#"
        static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, mine;
        static pthread_barrier_t held, done;
        static void *holder(void *p) {
          pthread_mutex_lock(&mutex);
          pthread_barrier_wait(&held);
          pthread_barrier_wait(&done);
          pthread_mutex_unlock(&mutex);
          return p;
        }
        static void *locker(void *p) { pthread_mutex_lock(&mutex); return p; }
        SANDBOX(locks, pthread_mutex_lock(&mutex); return 0)
        SANDBOX(waits_for_time, struct timespec t; clock_gettime(CLOCK_REALTIME, &t); t.tv_sec++; return pthread_mutex_timedlock(&mutex, &t) == ETIMEDOUT)
        SANDBOX(locks_in_threads, pthread_t t; pthread_create(&t, 0, locker, 0); pthread_join(t, 0); return 0)
        SANDBOX(relocks_its_own, return !pthread_mutex_lock(&mine) && !pthread_mutex_unlock(&mine) && !pthread_mutex_unlock(&mine))"#,
        r#"
        pthread_mutexattr_t recursive;
        pthread_mutexattr_init(&recursive);
        pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
        pthread_mutex_init(&mine, &recursive);
        pthread_mutex_lock(&mine);
        pthread_barrier_init(&held, 0, 2); pthread_barrier_init(&done, 0, 2);
        pthread_t t;
        pthread_create(&t, 0, holder, 0);
        pthread_barrier_wait(&held);
        const struct report *r = locks();
        EXPECT_WHY(r, "waits for a lock");
        CHECK(r->wall_ns < 2000000000);
        EXPECT(waits_for_time(), PASS);
        limits.deadline_ns = 500000000;
        EXPECT_WHY(locks_in_threads(), "waits for a lock");
        EXPECT(relocks_its_own(), PASS);
        pthread_barrier_wait(&done);
        pthread_join(t, 0);
        EXPECT(locks(), FAIL)"#,
    );
}

#[test]
fn thousands_of_tests_among_busy_threads() {
    let output = host(
        r#"
        static volatile int stop;
        static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        static volatile long under_lock;
        static void *busy(void *p) {
          for (unsigned seed = 1; !stop; seed = seed * 1103515245 + 12345) {
            char *a = malloc(seed >> 16 & 0xfff), *b = malloc(seed >> 8 & 0xffff);
            pthread_mutex_lock(&mutex);
            under_lock++;
            pthread_mutex_unlock(&mutex);
            free(a);
            snprintf(b, seed >> 8 & 0xff, "%u", seed);
            free(b);
          }
          return p;
        }
        static int body(void) {
          char *all[100];
          for (int i = 0; i < 100; i++) memset(all[i] = malloc(i * 50), 1, i * 50);
          for (int i = 0; i < 100; i++) free(all[i]);
          pthread_mutex_lock(&mutex);
          under_lock++;
          pthread_mutex_unlock(&mutex);
          return 1;
        }
        static int started, busy_answers;
        static void *tester(void *p) {
          for (int i = 0; i < 250; i++) {
            int side = __unseen_trial_split(&limits, (uint32_t)(long)p, scratch);
            if (side == TEST) __unseen_trial_leave(body());
            CHECK(side != FAILED);
            __atomic_fetch_add(side == HOST ? &started : &busy_answers, 1, __ATOMIC_SEQ_CST);
            if (side == HOST) for (const struct report *r = __unseen_trial_report((uint32_t)(long)p); !r->outcome;) pause_ms(1);
          }
          return p;
        }"#,
        r#"
        limits.deadline_ns = 3000000000;
        limits.at_once = 8;
        pthread_t threads[8];
        for (long i = 0; i < 8; i++) pthread_create(&threads[i], 0, i < 4 ? busy : tester, (void *)i);
        for (int i = 4; i < 8; i++) pthread_join(threads[i], 0);
        stop = 1;
        for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
        printf("%d started, %u pass, %u fail, %u crash, %u timeout, %u environment\n", started, __unseen_trial_count(PASS),
               __unseen_trial_count(FAIL), __unseen_trial_count(CRASH), __unseen_trial_count(TIMEOUT), __unseen_trial_count(ENVIRONMENT));
        CHECK(started == 1000);
        CHECK(__unseen_trial_count(FAIL) == 0 && __unseen_trial_count(CRASH) == 0 && __unseen_trial_count(TIMEOUT) == 0);
        CHECK(__unseen_trial_count(PASS) > 500);
        CHECK(__unseen_trial_count(PASS) + __unseen_trial_count(ENVIRONMENT) == (uint32_t)started)"#,
    );
    eprintln!("{output}");
}

#[test]
fn no_more_run_at_once_than_may() {
    host(
        "",
        r#"
        limits.at_once = 2;
        int test = 0;
        for (int i = 0; i < 2; i++) {
          int side = __unseen_trial_split(&limits, test++, scratch);
          if (side == TEST) { pause_ms(700); __unseen_trial_leave(1); }
          CHECK(side == HOST);
        }
        int side = __unseen_trial_split(&limits, test, scratch);
        CHECK(side == BUSY);
        EXPECT(await(0), PASS);
        EXPECT(await(1), PASS);
        for (int i = 0; i < 10000 && side == BUSY; i++) { pause_ms(1); side = __unseen_trial_split(&limits, test, scratch); }
        if (side == TEST) __unseen_trial_leave(1);
        CHECK(side == HOST);
        EXPECT(await(test), PASS)"#,
    );
}

#[test]
fn children_of_the_program_have_sandboxes_of_their_own() {
    host(
        "SANDBOX(passes, return 1)",
        r#"
        limits.at_once = 1;
        int side = __unseen_trial_split(&limits, 60, scratch);
        if (side == TEST) { pause_ms(500); __unseen_trial_leave(1); }
        CHECK(side == HOST);
        int child = fork();
        if (!child) {
          EXPECT(passes(), PASS);
          EXPECT(passes(), PASS);
          CHECK(wait(0) == -1 && errno == ECHILD);
          _exit(6);
        }
        int status;
        CHECK(wait(&status) == child && WEXITSTATUS(status) == 6);
        EXPECT(await(60), PASS)"#,
    );
}

#[test]
fn a_handler_may_start_a_test_whatever_it_interrupted() {
    host(
        r#"
        static volatile int tests, stop;
        static void on(int s) {
          (void)s;
          int side = __unseen_trial_split(&limits, tests % 64, scratch);
          if (side == TEST) __unseen_trial_leave(1);
          if (side == HOST) tests++;
        }
        static void *busy(void *p) { while (!stop) free(malloc(5000)); return p; }"#,
        r#"
        pthread_t t;
        pthread_create(&t, 0, busy, 0);
        signal(SIGALRM, on);
        setitimer(ITIMER_REAL, &(struct itimerval){{0, 3000}, {0, 3000}}, 0);
        for (double start = now(); now() - start < 1;) { free(malloc(100)); free(malloc(50000)); }
        setitimer(ITIMER_REAL, &(struct itimerval){0}, 0);
        stop = 1;
        pthread_join(t, 0);
        CHECK(tests > 20);
        for (int i = 0; i < 10000 && __unseen_trial_count(PASS) < (uint32_t)tests; i++) pause_ms(1);
        CHECK(__unseen_trial_count(PASS) == (uint32_t)tests)"#,
    );
}

#[test]
fn a_supervisor_that_is_killed_takes_the_test_along() {
    host(
        "SANDBOX(passes, return 1)",
        r#"
        int side = __unseen_trial_split(&limits, 60, scratch);
        if (side == TEST) { for (;;) pause(); }
        CHECK(side == HOST);
        /* The supervisor is the only child, and the test is its only one. */
        char path[64];
        int supervisor = 0, test = 0;
        for (int i = 0; i < 1000 && !test; i++, pause_ms(1)) {
          sprintf(path, "/proc/self/task/%d/children", getpid());
          FILE *f = fopen(path, "r");
          if (fscanf(f, "%d", &supervisor) == 1) {
            sprintf(path, "/proc/%d/task/%d/children", supervisor, supervisor);
            FILE *g = fopen(path, "r");
            if (g && fscanf(g, "%d", &test) != 1) test = 0;
            if (g) fclose(g);
          }
          fclose(f);
        }
        CHECK(supervisor && test);
        pause_ms(50);
        kill(supervisor, SIGKILL);
        pause_ms(100);
        /* Dead, whether or not somebody has asked for it yet. */
        sprintf(path, "/proc/%d/maps", test);
        FILE *maps = fopen(path, "r");
        CHECK(!maps || fgetc(maps) == EOF);
        EXPECT(passes(), PASS);
        const struct report *r = await(60);
        EXPECT_WHY(r, "its supervisor was killed");
        CHECK(wait(0) == -1 && errno == ECHILD)"#,
    );
}

#[test]
fn all_tests_can_be_ended_and_a_supervisor_that_crashes_harms_nobody() {
    host(
        "SANDBOX(passes, return 1)",
        r#"
        for (int i = 60; i < 63; i++) {
          int side = __unseen_trial_split(&limits, i, scratch);
          if (side == TEST) for (;;) pause();
          CHECK(side == HOST);
        }
        __unseen_trial_end_all();
        for (int i = 60; i < 63; i++) EXPECT_WHY(await(i), "its supervisor was killed");
        __unseen_trial_end_all();
        __unseen_trial_crash(1);
        int side = __unseen_trial_split(&limits, 60, scratch);
        if (side == TEST) __unseen_trial_leave(1);
        pause_ms(200);
        __unseen_trial_crash(0);
        EXPECT(passes(), PASS);
        CHECK(wait(0) == -1 && errno == ECHILD)"#,
    );
}

#[test]
fn a_program_that_is_killed_leaves_no_test_behind() {
    let bench = Bench::new();
    let program = build(
        &bench,
        &mut bench.clang(),
        &[],
        "",
        r#"
        limits.deadline_ns = 400000000;
        int side = __unseen_trial_split(&limits, 0, scratch);
        if (side == TEST) for (;;) {}
        printf("%d\n", getpid()); fflush(stdout);
        raise(SIGKILL)"#,
    );
    run(Command::new(&program).env("TRIAL", bench.path("")), End::Signal(9));
    let is_there = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        processes.filter_map(|p| std::fs::read_link(p.path().join("exe")).ok()).any(|exe| exe == program)
    };
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while is_there() {
        assert!(std::time::Instant::now() < deadline);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(std::fs::read_dir(bench.path("scratch")).unwrap().count(), 0, "the supervisor tidied up");
}

/// Tests of which each is told whether Landlock (1) or seccomp (2) is to be missing, and how strict it is to be about that.
const WITHOUT: &str = r#"
    #include "filter.h"
    static int pid;
    static volatile int got;
    static void on(int s) { (void)s; got++; }
    SANDBOX(passes, return 1)
    SANDBOX(writes, return open("made", O_CREAT | O_WRONLY, 0600) >= 0)
    SANDBOX(kills, return kill(pid, SIGUSR1) == 0)
    SANDBOX(forks, int child = fork(); if (!child) for (;;) pause(); return child > 0)"#;

#[test]
fn what_the_kernel_lacks_is_said_and_strict_tests_are_not_run() {
    host(
        WITHOUT,
        r#"
        pid = getpid(); signal(SIGUSR1, on);
        refuse(SYS_landlock_create_ruleset, 0, ENOSYS);
        EXPECT_WHY(passes(), "no Landlock");
        unsetenv("UNSEEN_SANDBOX"); limits.strict = 2;
        EXPECT_WHY(passes(), "no Landlock");
        setenv("UNSEEN_SANDBOX", "best", 1);
        const struct report *r = passes();
        EXPECT(r, PASS);
        CHECK(r->missing == 1);
        EXPECT_WHY(writes(), "outside its directory");
        EXPECT_WHY(kills(), "asked for kill");
        CHECK(access("made", F_OK) && !got)"#,
    );
    host(
        WITHOUT,
        r#"
        pid = getpid(); signal(SIGUSR1, on);
        refuse_filters();
        EXPECT_WHY(passes(), "no seccomp");
        limits.strict = 0;
        const struct report *r = passes();
        if (r->outcome == ENVIRONMENT) { puts("skip"); return 0; }
        EXPECT(r, PASS);
        CHECK(r->missing == 2);
        EXPECT(writes(), FAIL);
        EXPECT(kills(), FAIL);
        EXPECT(forks(), PASS);
        CHECK(access("made", F_OK) && !got);
        CHECK(wait(0) == -1 && errno == ECHILD)"#,
    );
}

#[test]
fn other_libcs_and_static_programs() {
    let declarations = r#"
        static volatile int got;
        static void on(int s) { (void)s; got++; }
        static void *thread(void *p) { *(int *)p = 42; return p; }
        SANDBOX(works, char *p = malloc(100000); memset(p, 1, 100000); free(p); raise(SIGUSR1);
          pthread_t t; int n = 0; pthread_create(&t, 0, thread, &n); pthread_join(t, 0); return got == 1 && n == 42)
        SANDBOX(aborts, abort())
        SANDBOX(exits, printf("x"); exit(3))
        SANDBOX(opens, fopen("made", "w"))
        SANDBOX(forks, fork())"#;
    let main = r#"
        signal(SIGUSR1, on);
        pthread_t t; int n;
        pthread_create(&t, 0, thread, &n); pthread_join(t, 0);
        for (int i = 0; i < 20; i++) EXPECT(works(), PASS);
        const struct report *r = aborts();
        EXPECT(r, CRASH); CHECK(r->code == SIGABRT);
        r = exits();
        EXPECT(r, FAIL); CHECK(r->code == 3 && r->output[0] == 'x');
        EXPECT_WHY(opens(), "outside its directory: open");
        EXPECT(forks(), ENVIRONMENT);
        CHECK(got == 0 && wait(0) == -1 && errno == ECHILD)"#;
    let bench = Bench::new();
    let program = build(&bench, &mut bench.clang(), &["-static"], declarations, main);
    run(Command::new(program).env("TRIAL", bench.path("")), End::Exit(0));
    if Command::new("musl-gcc").arg("--version").output().is_err() {
        return skip("no musl-gcc");
    }
    for flags in [&["-static"][..], &[]] {
        let program = build(&bench, &mut Command::new("musl-gcc"), flags, declarations, main);
        run(Command::new(program).env("TRIAL", bench.path("")), End::Exit(0));
    }
}

#[test]
fn how_long_the_program_stands_still_is_printed() {
    let output = host(
        "SANDBOX(passes, return 1)
        static int compare(const void *a, const void *b) { return *(uint64_t *)a > *(uint64_t *)b ? 1 : -1; }",
        r#"
        for (int megabytes = 0; megabytes <= 100; megabytes = megabytes ? megabytes * 10 : 10) {
          char *volatile p = malloc((size_t)megabytes << 20);
          memset(p, 1, (size_t)megabytes << 20);
          uint64_t stalls[21], walls[21];
          for (int i = 0; i < 21; i++) {
            const struct report *r = passes();
            EXPECT(r, PASS);
            stalls[i] = r->stall_ns; walls[i] = r->wall_ns;
          }
          qsort(stalls, 21, 8, compare); qsort(walls, 21, 8, compare);
          printf("%3d MB touched: stands still for %lu us (least %lu, most %lu), test takes %lu us\n", megabytes,
                 (unsigned long)stalls[10] / 1000, (unsigned long)stalls[0] / 1000, (unsigned long)stalls[20] / 1000,
                 (unsigned long)walls[10] / 1000);
          free(p);
        }"#,
    );
    eprintln!("{output}");
}
