//! Nothing that a test does in its sandbox reaches the program: for each way out, a program that tries.

mod support;
use support::{Bench, End, Store, run, runtime, skip, trial};

/// Builds a program with what it has at file scope and in `main`, which is run in a directory of its own, also by a user without
/// rights. It says what is wrong, or exits with 0. Gives its output.
#[track_caller]
fn host(declarations: &str, main: &str) -> String {
    let bench = Bench::new();
    let source = format!("#include \"trial.h\"\n{declarations}\nint main(void) {{ {main}; return 0; }}");
    let program = bench.link_with(&mut bench.clang(), "program", &source, &[], trial());
    bench.run_as_all(&program)
}

/// A file `f` with ten bytes, which must be there unchanged in the end.
const FILE: &str = r#"
    static void make(void) {
      int fd = open("f", O_RDWR | O_CREAT | O_TRUNC, 0644);
      CHECK(write(fd, "0123456789", 10) == 10);
      close(fd);
    }
    static void check(void) {
      char b[20];
      int fd = open("f", O_RDONLY);
      CHECK(fd >= 0 && read(fd, b, 20) == 10 && !memcmp(b, "0123456789", 10));
      close(fd);
      struct stat s;
      CHECK(!stat("f", &s) && (s.st_mode & 0777) == 0644);
      int entries = 0;
      DIR *d = opendir(".");
      for (struct dirent *e; (e = readdir(d));) entries += e->d_name[0] != '.';
      closedir(d);
      /* The file, and the directory for tests. */
      CHECK(entries == 2);
    }"#;

#[test]
fn files_outside_are_not_changed() {
    host(
        &format!(
            r#"{FILE}
            SANDBOX(writes, open("f", O_WRONLY))
            SANDBOX(appends, fopen("f", "a"))
            SANDBOX(cuts, open("f", O_RDONLY | O_TRUNC))
            SANDBOX(truncates, truncate("f", 0))
            SANDBOX(makes, open("new", O_RDWR | O_CREAT, 0600))
            SANDBOX(makes_directory, mkdir("new", 0700))
            SANDBOX(links, link("f", "new"))
            SANDBOX(links_softly, symlink("f", "new"))
            SANDBOX(renames, rename("f", "g"))
            SANDBOX(removes, unlink("f"))
            SANDBOX(makes_pipe, mkfifo("new", 0600))
            SANDBOX(changes_mode, chmod("f", 0600))
            SANDBOX(touches, utimensat(AT_FDCWD, "f", 0, 0))
            SANDBOX(through_proc, int fd = open("f", O_RDONLY); char p[40]; sprintf(p, "/proc/self/fd/%d", fd); open(p, O_RDWR))
            SANDBOX(reads, int fd = open("f", O_RDONLY); char c; return read(fd, &c, 1) == 1 && c == '0')
            SANDBOX(misses, return open("none", O_RDONLY) == -1 && errno == ENOENT)
            SANDBOX(wastes, int fd = open("/dev/null", O_WRONLY); return write(fd, "x", 1) == 1)"#
        ),
        r#"
        make();
        EXPECT_WHY(writes(), "outside its directory: open");
        EXPECT_WHY(appends(), "outside its directory: open");
        EXPECT_WHY(cuts(), "outside its directory: open");
        EXPECT_WHY(truncates(), "outside its directory: truncate");
        EXPECT_WHY(makes(), "outside its directory: open");
        EXPECT_WHY(makes_directory(), "outside its directory: mkdir");
        EXPECT_WHY(links(), "outside its directory: link");
        EXPECT_WHY(links_softly(), "outside its directory: symlink");
        EXPECT_WHY(renames(), "outside its directory: rename");
        EXPECT_WHY(removes(), "outside its directory: unlink");
        EXPECT_WHY(makes_pipe(), "asked for mknod");
        EXPECT_WHY(changes_mode(), "asked for chmod");
        EXPECT_WHY(touches(), "asked for utimensat");
        EXPECT_WHY(through_proc(), "outside its directory: open");
        EXPECT(reads(), PASS);
        EXPECT(misses(), PASS);
        EXPECT(wastes(), PASS);
        check()"#,
    );
}

#[test]
fn a_test_has_a_directory_to_write_in_which_is_gone_afterwards() {
    host(
        r#"
        SANDBOX(writes,
          char p[600]; char q[600]; char buffer[8];
          sprintf(p, "%s/test-%d/deep", scratch, getppid());
          if (mkdir(p, 0700)) return 0;
          strcat(p, "/file");
          FILE *f = fopen(p, "w+");
          if (!f) return 0;
          fputs("hello", f); rewind(f);
          if (!fgets(buffer, 8, f) || strcmp(buffer, "hello")) return 0;
          fclose(f);
          sprintf(q, "%s2", p);
          return !rename(p, q) && !truncate(q, 2) && !symlink("/", p))"#,
        r#"
        EXPECT(writes(), PASS);
        CHECK(!rmdir(scratch))"#,
    );
}

#[test]
fn open_files_are_not_changed_and_stay_where_they_are() {
    host(
        &format!(
            r#"{FILE}
            static int both, out, in;
            static FILE *log_file;
            static DIR *directory;
            SANDBOX(writes,
              char b[20];
              if (lseek(both, 0, SEEK_CUR) != 5 || lseek(in, 0, SEEK_CUR) != 3 || lseek(out, 0, SEEK_CUR) != 2) return 0;
              if (read(in, b, 20) != 7 || b[0] != '3') return 0;
              if (write(both, "BOTH", 4) != 4 || pread(both, b, 20, 0) != 10 || memcmp(b, "01234BOTH9", 10)) return 0;
              if (write(out, "OUT", 3) != 3 || ftruncate(out, 0)) return 0;
              fputs("from the test", log_file);
              fflush(log_file);
              while (readdir(directory));
              return 1)
            SANDBOX(locks, struct flock l = {{F_RDLCK, SEEK_SET, 0, 0, 0}}; fcntl(in, F_SETLK, &l))"#
        ),
        r#"
        make();
        both = open("f", O_RDWR); out = open("f", O_WRONLY); in = open("f", O_RDONLY);
        lseek(both, 5, SEEK_SET); lseek(in, 3, SEEK_SET); lseek(out, 2, SEEK_SET);
        log_file = fopen("f", "a");
        directory = opendir("/proc/self");
        readdir(directory);
        long place = telldir(directory);
        long position = lseek(dirfd(directory), 0, SEEK_CUR);
        EXPECT(writes(), PASS);
        EXPECT_WHY(locks(), "asked for fcntl");
        CHECK(lseek(both, 0, SEEK_CUR) == 5 && lseek(in, 0, SEEK_CUR) == 3 && lseek(out, 0, SEEK_CUR) == 2);
        CHECK(telldir(directory) == place && lseek(dirfd(directory), 0, SEEK_CUR) == position);
        mkdir("scratch", 0700);
        check()"#,
    );
}

#[test]
fn pipes_and_sockets_are_neither_read_nor_written() {
    host(
        r#"
        #include <sys/socket.h>
        #include <sys/epoll.h>
        #include <sys/eventfd.h>
        #include <poll.h>
        static int p[2], s[2], e, q;
        static struct pollfd waiting;
        static char b[8];
        SANDBOX(drains, read(p[0], b, 8))
        SANDBOX(fills, write(p[1], "no", 2))
        SANDBOX(reads_socket, read(s[0], b, 8))
        SANDBOX(receives, recv(s[0], b, 8, 0))
        SANDBOX(sends, send(s[0], "no", 2, 0))
        SANDBOX(connects, socket(AF_INET, SOCK_STREAM, 0))
        SANDBOX(makes_pair, socketpair(AF_UNIX, SOCK_STREAM, 0, s))
        SANDBOX(copies, dup(s[0]))
        SANDBOX(polls, poll(&waiting, 1, 0))
        SANDBOX(counts, eventfd_t n; eventfd_read(e, &n))
        SANDBOX(changes_set, struct epoll_event x = {0}; epoll_ctl(q, EPOLL_CTL_DEL, p[0], &x))
        SANDBOX(closes, close(p[0]); close(p[1]); close(s[0]); close(s[1]); close(e); close(q))
        SANDBOX(opens_pipe, open("named", O_RDONLY))
        SANDBOX(has_its_own, int o[2]; return !pipe(o) && write(o[1], "own", 3) == 3 && read(o[0], b, 8) == 3)"#,
        r#"
        CHECK(!pipe(p) && !socketpair(AF_UNIX, SOCK_STREAM, 0, s) && !mkfifo("named", 0600));
        e = eventfd(7, 0); q = epoll_create1(0);
        waiting = (struct pollfd){p[0], POLLIN, 0};
        struct epoll_event x = {.events = EPOLLIN};
        CHECK(!epoll_ctl(q, EPOLL_CTL_ADD, p[0], &x));
        CHECK(write(p[1], "pipe", 4) == 4 && write(s[1], "socket", 6) == 6);
        EXPECT_WHY(drains(), "used the program's descriptor 3");
        EXPECT_WHY(fills(), "used the program's descriptor 4");
        EXPECT_WHY(reads_socket(), "used the program's descriptor 5");
        EXPECT_WHY(receives(), "asked for recvfrom");
        EXPECT_WHY(sends(), "asked for sendto");
        EXPECT_WHY(connects(), "asked for socket");
        EXPECT_WHY(makes_pair(), "asked for socketpair");
        EXPECT_WHY(copies(), "used the program's descriptor 5");
        EXPECT_WHY(polls(), "asked for poll");
        EXPECT_WHY(counts(), "used the program's descriptor 7");
        EXPECT_WHY(changes_set(), "asked for epoll_ctl");
        EXPECT_WHY(opens_pipe(), "what is no plain file");
        EXPECT(closes(), PASS);
        EXPECT(has_its_own(), PASS);
        char got[16];
        CHECK(epoll_wait(q, &x, 1, 0) == 1);
        CHECK(read(p[0], got, 16) == 4 && !memcmp(got, "pipe", 4));
        CHECK(read(s[0], got, 16) == 6 && !memcmp(got, "socket", 6));
        eventfd_t n;
        CHECK(!eventfd_read(e, &n) && n == 7);
        fcntl(s[1], F_SETFL, O_NONBLOCK);
        CHECK(read(s[1], got, 16) == -1)"#,
    );
}

#[test]
fn the_end_of_a_pipe_is_the_programs_while_a_test_runs() {
    host(
        "SANDBOX(sleeps, pause_ms(3000))",
        r#"
        int p[2];
        CHECK(!pipe(p));
        int side = __unseen_trial_split(&limits, 0, scratch);
        if (side == TEST) __unseen_trial_leave(sleeps_body());
        close(p[1]);
        char c;
        double start = now();
        CHECK(read(p[0], &c, 1) == 0);
        CHECK(now() - start < 2);
        EXPECT(await(0), PASS)"#,
    );
}

#[test]
fn shared_memory_becomes_the_tests_own() {
    host(
        &format!(
            r#"{FILE}
            #include <sys/shm.h>
            static volatile char *anonymous, *file, *named, *segment;
            static int id;
            SANDBOX(writes,
              if (anonymous[0] != 'a' || file[0] != '0' || named[0] != 'n' || segment[0] != 's') return 0;
              anonymous[0] = file[0] = named[0] = segment[0] = 'X';
              anonymous[5000] = 'X';
              return anonymous[0] == 'X' && file[0] == 'X' && !msync((void *)file, 4096, MS_SYNC))
            SANDBOX(attaches, shmat(id, 0, 0))
            SANDBOX(queues, shmget(IPC_PRIVATE, 4096, 0600))"#
        ),
        r#"
        make();
        anonymous = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        int fd = open("f", O_RDWR);
        file = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        char name[40];
        sprintf(name, "/unseen-%d", getpid());
        int shm = shm_open(name, O_RDWR | O_CREAT, 0600);
        CHECK(shm >= 0 && !ftruncate(shm, 4096));
        named = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, shm, 0);
        shm_unlink(name);
        id = shmget(IPC_PRIVATE, 4096, 0600);
        segment = shmat(id, 0, 0);
        shmctl(id, IPC_RMID, 0);
        anonymous[0] = 'a'; named[0] = 'n'; segment[0] = 's';
        EXPECT(writes(), PASS);
        EXPECT_WHY(attaches(), "asked for shmat");
        EXPECT_WHY(queues(), "asked for shmget");
        CHECK(anonymous[0] == 'a' && anonymous[5000] == 0 && file[0] == '0' && named[0] == 'n' && segment[0] == 's');
        check();
        CHECK(mmap(0, 100 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
        EXPECT_WHY(writes(), "shares too much memory")"#,
    );
}

#[test]
fn memory_that_forks_do_not_copy_is_no_crash() {
    host(
        r#"
        static volatile char *apart;
        SANDBOX(reads, return apart[5000] == 'x')"#,
        r#"
        apart = mmap(0, 1 << 14, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        apart[5000] = 'x';
        EXPECT(reads(), PASS);
        CHECK(!madvise((void *)apart, 1 << 14, MADV_DONTFORK));
        EXPECT_WHY(reads(), "not copied by a fork")"#,
    );
}

#[test]
fn what_a_test_covers_is_not_recorded() {
    let bench = Bench::new();
    let source = "
        #include \"trial.h\"
        #include \"module.h\"
        SANDBOX(covers, if (!counters[1]) return 0; hit(2); return counters[2])
        int main(void) { hit(1); EXPECT(covers(), PASS); CHECK(!counters[2]); hit(3); return 0; }";
    let program = bench.link_with(&mut bench.clang(), "program", source, &[trial().to_str().unwrap()], runtime());
    let store = Store::new();
    run(store.command(program).env("TRIAL", bench.path("")), End::Exit(0));
    assert_eq!(store.only().hits(), [1, 3]);
    assert_eq!(store.events().len(), 1);
}

#[test]
fn signals_reach_nobody_else() {
    host(
        r#"
        static volatile int got;
        static int pid, tid;
        static pthread_t self;
        static void on(int s) { (void)s; got++; }
        SANDBOX(kills, kill(pid, SIGUSR1))
        SANDBOX(kills_all, kill(-1, SIGUSR1))
        SANDBOX(kills_group, kill(0, SIGUSR1))
        SANDBOX(kills_parent, kill(getppid(), SIGKILL))
        SANDBOX(kills_thread, syscall(SYS_tgkill, pid, tid, SIGUSR1))
        SANDBOX(queues, union sigval v = {0}; sigqueue(pid, SIGUSR1, v))
        SANDBOX(raises, raise(SIGUSR1); pthread_kill(self, SIGUSR1); kill(getpid(), SIGUSR1); return got == 3)
        SANDBOX(as_musl_does, syscall(SYS_tkill, tid, SIGUSR1); syscall(SYS_tgkill, getpid(), tid, SIGUSR1); return got == 2)
        SANDBOX(takes_ours, signal(SIGSYS, SIG_IGN))
        SANDBOX(traces, syscall(SYS_ptrace, 16, pid, 0, 0))
        SANDBOX(pokes, syscall(SYS_process_vm_writev, pid, 0, 0, 0, 0, 0))"#,
        r#"
        signal(SIGUSR1, on);
        pid = getpid(); tid = gettid(); self = pthread_self();
        EXPECT_WHY(kills(), "asked for kill");
        EXPECT_WHY(kills_all(), "asked for kill");
        EXPECT_WHY(kills_group(), "asked for kill");
        EXPECT_WHY(kills_parent(), "asked for kill");
        EXPECT_WHY(kills_thread(), "asked for tgkill");
        EXPECT_WHY(queues(), "asked for rt_sigqueueinfo");
        EXPECT(raises(), PASS);
        EXPECT(as_musl_does(), PASS);
        EXPECT_WHY(takes_ours(), "asked for rt_sigaction");
        EXPECT_WHY(traces(), "asked for ptrace");
        EXPECT_WHY(pokes(), "asked for process_vm_writev");
        CHECK(got == 0)"#,
    );
}

#[test]
fn terminals_are_left_alone() {
    let output = host(
        r#"
        #include <sys/ioctl.h>
        #include <termios.h>
        static char name[64];
        static int slave;
        SANDBOX(sets, struct termios t = {0}; tcsetattr(slave, TCSANOW, &t))
        SANDBOX(types, ioctl(slave, TIOCSTI, "x"))
        SANDBOX(reads, char c; read(slave, &c, 1))
        SANDBOX(reads_input, char c; read(0, &c, 1))
        SANDBOX(prints, return write(1, "to nobody", 9) == 9)
        SANDBOX(opens, open(name, O_RDONLY | O_NOCTTY))
        SANDBOX(opens_controlling, open("/dev/tty", O_RDWR))
        SANDBOX(asks, return !isatty(slave) && getpgrp() == getpid())"#,
        r#"
        int master = posix_openpt(O_RDWR | O_NOCTTY);
        if (master < 0 || grantpt(master) || unlockpt(master) || ptsname_r(master, name, sizeof name)) return puts("none"), 0;
        setsid();
        slave = open(name, O_RDWR);
        if (slave < 0) return puts("none"), 0;
        CHECK(!ioctl(slave, TIOCSCTTY, 0) || errno == EPERM || errno == EINVAL);
        dup2(slave, 0); int out = dup(1); dup2(slave, 1);
        static struct termios before, after;
        CHECK(!tcgetattr(slave, &before));
        CHECK(write(master, "line\n", 5) == 5);
        EXPECT_WHY(sets(), "asked for ioctl");
        EXPECT_WHY(types(), "asked for ioctl");
        EXPECT_WHY(reads(), "used the program's descriptor");
        EXPECT_WHY(reads_input(), "used the program's descriptor 0");
        const struct report *r = prints();
        EXPECT(r, PASS);
        CHECK(!memcmp(r->output, "to nobody", 9));
        EXPECT_WHY(opens(), "what is no plain file");
        EXPECT_WHY(opens_controlling(), "what is no plain file");
        EXPECT(asks(), PASS);
        dup2(out, 1);
        CHECK(!tcgetattr(slave, &after) && !memcmp(&before, &after, sizeof before));
        char b[16];
        CHECK(read(slave, b, 16) == 5 && !memcmp(b, "line\n", 5));
        fcntl(master, F_SETFL, O_NONBLOCK);
        int n = read(master, b, 16);
        CHECK(n == 6 && !memcmp(b, "line\r\n", 6));
        CHECK(read(master, b, 16) == -1)"#,
    );
    if output.contains("none") {
        skip("no terminals here");
    }
}

#[test]
fn the_programs_wait_and_sigchld_do_not_know_of_it() {
    for disposition in ["signal(SIGCHLD, on)", "signal(SIGCHLD, SIG_IGN)", "prctl(PR_SET_CHILD_SUBREAPER, 1)"] {
        host(
            r#"
            static volatile int got;
            static void on(int s) { (void)s; got++; }
            SANDBOX(passes, return 1)
            SANDBOX(crashes, abort())"#,
            &format!(
                r#"
                {disposition};
                for (int i = 0; i < 20; i++) {{ EXPECT(passes(), PASS); EXPECT(crashes(), CRASH); }}
                CHECK(wait(0) == -1 && errno == ECHILD);
                CHECK(waitpid(-1, 0, WNOHANG) == -1 && errno == ECHILD);
                siginfo_t info;
                CHECK(waitid(P_ALL, 0, &info, WEXITED | WNOHANG) == -1 && errno == ECHILD);
                CHECK(got == 0);
                signal(SIGCHLD, on);
                int child = fork();
                if (!child) _exit(5);
                EXPECT(passes(), PASS);
                int status;
                CHECK(wait(&status) == child && WEXITSTATUS(status) == 5);
                CHECK(wait(0) == -1 && errno == ECHILD);
                CHECK(got == 1);
                sigset_t pending;
                sigpending(&pending);
                CHECK(!sigismember(&pending, SIGCHLD))"#
            ),
        );
    }
}

#[test]
fn a_thread_that_blocks_all_signals_is_confined_all_the_same() {
    host(
        r#"
        #include <sys/socket.h>
        static sigset_t all;
        static volatile int got;
        static void on(int s) { (void)s; got++; }
        static int is_pending(int s) { static sigset_t p; sigpending(&p); return sigismember(&p, s); }
        SANDBOX(waits, sigset_t before; sigemptyset(&before);
          raise(SIGUSR1);
          if (got || !is_pending(SIGUSR1)) return 0;
          sigprocmask(SIG_UNBLOCK, &all, &before);
          return got == 1 && sigismember(&before, SIGUSR1) && !is_pending(SIGUSR1))
        SANDBOX(opens, sigprocmask(SIG_BLOCK, &all, 0); return open("/etc/passwd", O_RDONLY) >= 0)
        SANDBOX(reaches_out, socket(AF_UNIX, SOCK_STREAM, 0))
        SANDBOX(faults, *(volatile int *)0x1238 = 1)"#,
        r#"
        signal(SIGUSR1, on);
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, 0);
        EXPECT(waits(), PASS);
        EXPECT(opens(), PASS);
        EXPECT_WHY(reaches_out(), "asked for socket");
        const struct report *r = faults();
        EXPECT(r, CRASH);
        CHECK(r->address == 0x1238);
        CHECK(!got && !is_pending(SIGUSR1))"#,
    );
}

#[test]
fn the_programs_descriptors_errno_mask_and_stack_are_as_they_were() {
    host(
        r#"
        static void list(char *to) {
          DIR *d = opendir("/proc/self/fd");
          *to = 0;
          for (struct dirent *e; (e = readdir(d));) {
            char path[300], target[300] = "";
            snprintf(path, sizeof path, "/proc/self/fd/%s", e->d_name);
            if (readlink(path, target, sizeof target - 1) > 0) to += sprintf(to, "%s=%s\n", e->d_name, target);
          }
          closedir(d);
        }
        static char before[9000], during[9000], after[9000], alternate[65536];
        static sigset_t mask;
        SANDBOX(same,
          static sigset_t now; stack_t stack;
          sigprocmask(SIG_SETMASK, 0, &now);
          sigaltstack(0, &stack);
          return !memcmp(&now, &mask, sizeof now) && stack.ss_sp == alternate && errno == 77)"#,
        r#"
        sigemptyset(&mask);
        sigaddset(&mask, SIGUSR2);
        sigprocmask(SIG_SETMASK, &mask, 0);
        sigprocmask(SIG_SETMASK, 0, &mask);
        sigaltstack(&(stack_t){alternate, 0, sizeof alternate}, 0);
        list(before);
        int side;
        for (int i = 0; i < 3; i++) {
          errno = 77;
          side = __unseen_trial_split(&limits, i, scratch);
          if (side == TEST) __unseen_trial_leave(same_body());
          CHECK(side == HOST && errno == 77);
          list(during);
          EXPECT(await(i), PASS);
        }
        list(after);
        CHECK(!strcmp(before, during) && !strcmp(before, after));
        static sigset_t now;
        stack_t stack;
        sigprocmask(SIG_SETMASK, 0, &now);
        sigaltstack(0, &stack);
        CHECK(!memcmp(&now, &mask, sizeof now) && stack.ss_sp == alternate);
        close(0); close(1);
        EXPECT(same(), FAIL);
        CHECK(open("/dev/null", O_RDONLY) == 0 && open("/dev/null", O_WRONLY) == 1)"#,
    );
}

#[test]
fn exit_handlers_and_buffers_of_the_program_are_written_once() {
    let output = host(
        r#"
        static FILE *file;
        static void at_exit(void) { fputs("handler\n", file); printf("handler\n"); fflush(stdout); }
        static void at_quick(void) { write(1, "quick\n", 6); }
        SANDBOX(exits, exit(0))
        SANDBOX(exits_quickly, quick_exit(0))
        SANDBOX(flushes, fflush(0))
        SANDBOX(crashes, *(volatile int *)8 = 1)"#,
        r#"
        file = fopen("out", "w");
        atexit(at_exit);
        at_quick_exit(at_quick);
        fputs("buffered\n", file);
        printf("buffered\n");
        EXPECT(exits(), FAIL);
        EXPECT(exits_quickly(), FAIL);
        EXPECT(flushes(), PASS);
        EXPECT(crashes(), CRASH);
        struct stat s;
        CHECK(!stat("out", &s) && s.st_size == 0)"#,
    );
    assert_eq!(output, "buffered\nhandler\n");
}

#[test]
fn timers_fire_once_in_the_program_and_not_in_tests() {
    host(
        r#"
        static volatile int alarms, ticks;
        static void on_alarm(int s) { (void)s; alarms++; }
        static void on_tick(int s) { (void)s; ticks++; }
        SANDBOX(sleeps, pause_ms(150); return alarms == 0 && ticks == 0)
        SANDBOX(stops, struct itimerval t = {0}; setitimer(ITIMER_REAL, &t, 0); alarm(0))
        SANDBOX(has_its_own, alarm(1); pause(); return alarms == 1)"#,
        r#"
        signal(SIGALRM, on_alarm);
        signal(SIGUSR1, on_tick);
        timer_t timer;
        CHECK(!timer_create(CLOCK_MONOTONIC, &(struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1}, &timer));
        setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 50000}}, 0);
        timer_settime(timer, 0, &(struct itimerspec){{0, 0}, {0, 50000000}}, 0);
        EXPECT(stops(), PASS);
        EXPECT(sleeps(), PASS);
        pause_ms(100);
        CHECK(alarms == 1 && ticks == 1);
        EXPECT(has_its_own(), FAIL);
        alarms = 0;
        EXPECT(has_its_own(), PASS);
        CHECK(alarms == 0)"#,
    );
}

#[test]
fn a_test_has_no_children_but_threads() {
    host(
        r#"
        #include <spawn.h>
        extern char **environ;
        static char *arguments[] = {"true", 0};
        static void *thread(void *p) { *(int *)p = 42; return p; }
        SANDBOX(forks, if (!fork()) _exit(0))
        SANDBOX(forks_oddly, if (!vfork()) _exit(0))
        SANDBOX(spawns, pid_t p; posix_spawn(&p, "/bin/true", 0, 0, arguments, environ))
        SANDBOX(executes, execv("/bin/true", arguments))
        SANDBOX(runs_a_shell, system("true"))
        SANDBOX(waits, wait(0))
        SANDBOX(has_threads, pthread_t t; int n = 0; pthread_create(&t, 0, thread, &n); pthread_join(t, 0); return n == 42)
        SANDBOX(splits, return __unseen_trial_split(&limits, 9, scratch) == FAILED && __unseen_trial_is_test())"#,
        r#"
        EXPECT(forks(), ENVIRONMENT);
        EXPECT(forks_oddly(), ENVIRONMENT);
        EXPECT(spawns(), ENVIRONMENT);
        EXPECT_WHY(executes(), "asked for execve");
        EXPECT(runs_a_shell(), ENVIRONMENT);
        EXPECT_WHY(waits(), "asked for wait4");
        EXPECT(has_threads(), PASS);
        EXPECT(splits(), PASS);
        CHECK(!__unseen_trial_is_test())"#,
    );
}

#[test]
fn memory_of_the_program_is_not_changed_and_its_fork_handlers_do_not_run() {
    host(
        r#"
        static int global = 1;
        static _Thread_local int local = 2;
        static int handlers;
        static void handler(void) { handlers++; }
        static int *heap;
        SANDBOX(writes, if (handlers) return 0; global = local = *heap = 9; setenv("X", "test", 1); chdir("/"); umask(0); return 1)"#,
        r#"
        pthread_atfork(handler, handler, handler);
        heap = malloc(4);
        *heap = 3;
        char here[512], there[512];
        getcwd(here, 512);
        mode_t mask = umask(022);
        umask(022);
        EXPECT(writes(), PASS);
        CHECK(global == 1 && local == 2 && *heap == 3 && !getenv("X") && handlers == 0);
        CHECK(getcwd(there, 512) && !strcmp(here, there) && umask(mask) == 022)"#,
    );
}
