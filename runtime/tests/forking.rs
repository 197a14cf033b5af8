//! Children: own files where that can be, the parent's where it can't, and never a lost count.

mod support;
use support::{Bench, Counts, End, Store, is_root, skip};

/// A program that hits 1, does `before`, forks; the child hits 2 and exits with what `child` returns (0 is expected),
/// the parent waits and hits 3.
fn forking(before: &str, child: &str) -> String {
    format!(
        "#include \"module.h\"
        #include \"filter.h\"
        #include <errno.h>
        #include <fcntl.h>
        #include <grp.h>
        #include <pthread.h>
        #include <signal.h>
        #include <stdio.h>
        #include <sys/resource.h>
        #include <sys/wait.h>
        #include <unistd.h>
        static int child(void) {{ {child}; return 0; }}
        int main(int argc, char **argv) {{
          (void)argc, (void)argv;
          hit(1);
          {before};
          int pid = fork();
          if (pid == 0) {{ hit(2); _exit(child()); }}
          int status;
          if (pid < 0 || waitpid(pid, &status, 0) != pid) return 99;
          hit(3);
          return WIFSIGNALED(status) ? 100 + WTERMSIG(status) : WEXITSTATUS(status);
        }}"
    )
}

fn hits(counts: &[Counts]) -> Vec<Vec<usize>> {
    counts.iter().map(Counts::hits).collect()
}

/// The one file has what parent and child did.
#[track_caller]
fn assert_shared(store: &Store) {
    assert_eq!(store.only().hits(), [1, 2, 3]);
    assert_eq!(store.dropped(), [], "nothing is lost, so nothing is said");
}

#[test]
fn a_child_counts_from_zero_into_its_own_file() {
    let store = Bench::new().run(&forking("", "return counters[1]"), End::Exit(0));
    let [parent, child] = &store.counts()[..] else { panic!() };
    assert_eq!((parent.hits(), child.hits()), (vec![1, 3], vec![2]));
    assert_eq!(child.parent, parent.pid);
    assert_ne!(child.pid, parent.pid);
    assert_eq!((&child.path, child.id), (&parent.path, parent.id));
    let logged: Vec<_> = store.events().into_iter().map(|e| e.fields[4].clone()).collect();
    assert_eq!(logged, [&*parent.name, &*child.name]);
}

#[test]
fn a_childs_child_too() {
    let store = Bench::new().run(
        &forking("", "int pid = fork(); if (!pid) { hit(7); _exit(0); } hit(8); waitpid(pid, 0, 0)"),
        End::Exit(0),
    );
    assert_eq!(hits(&store.counts()), [vec![1, 3], vec![2, 8], vec![7]]);
}

#[test]
fn a_child_that_dies_by_a_signal_has_its_counts() {
    let store = Bench::new().run(&forking("", "kill(getpid(), SIGKILL)"), End::Exit(109));
    assert_eq!(hits(&store.counts()), [vec![1, 3], vec![2]]);
}

#[test]
fn a_fork_in_a_thread_with_the_smallest_stack() {
    let store = Bench::new().run(
        &format!(
            "#include <stdlib.h>\n{}",
            forking("", "").replace(
                "int main",
                "static void *thread(void *status) {
                  if (fork() == 0) { hit(5); _exit(0); }
                  wait(status);
                  return 0;
                }
                int main(void) {
                  pthread_attr_t attr;
                  pthread_t id;
                  int status = -1;
                  pthread_attr_init(&attr);
                  if (pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN)) return 98;
                  if (pthread_create(&id, &attr, thread, &status)) return 97;
                  pthread_join(id, 0);
                  return status;
                }
                int unused"
            )
        ),
        End::Exit(0),
    );
    assert_eq!(hits(&store.counts()), [vec![], vec![5]]);
}

#[test]
fn a_fork_in_a_signal_handler_on_a_small_stack() {
    let store = Bench::new().run(
        &forking(
            "static char small[4096];
            stack_t stack = {.ss_sp = small, .ss_size = sizeof small};
            struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
            if (sigaltstack(&stack, 0) || sigaction(SIGUSR1, &action, 0)) return 98;
            raise(SIGUSR1)",
            "",
        )
        .replace(
            "int main",
            "static void handler(int n) { (void)n; if (!fork()) { hit(6); _exit(0); } wait(0); }\nint main",
        ),
        End::Exit(0),
    );
    assert_eq!(hits(&store.counts()), [vec![1, 3], vec![6], vec![2]]);
}

#[test]
fn children_libc_does_not_announce_share() {
    for call in ["vfork()", "syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)", "_Fork()"] {
        let store = Bench::new().run(&forking("", "").replace("= fork()", &format!("= {call}")), End::Exit(0));
        assert_shared(&store);
    }
}

#[test]
fn without_file_descriptors_children_share() {
    let before = "struct rlimit none = {0, 0}; if (setrlimit(RLIMIT_NOFILE, &none)) return 98";
    assert_shared(&Bench::new().run(&forking(before, ""), End::Exit(0)));
}

#[test]
fn with_all_file_descriptors_closed_children_still_get_their_own() {
    let close_all = "for (int fd = 0; fd < 1024; fd++) close(fd)";
    let store = Bench::new().run(&forking(close_all, "return open(\"/dev/null\", O_RDONLY)"), End::Exit(0));
    assert_eq!(hits(&store.counts()), [vec![1, 3], vec![2]]);
}

#[test]
fn with_a_file_size_limit_children_share_and_get_no_signal() {
    let before = "struct rlimit none = {0, 0}; if (setrlimit(RLIMIT_FSIZE, &none)) return 98";
    assert_shared(&Bench::new().run(&forking(before, ""), End::Exit(0)));
}

#[test]
fn in_another_root_directory_children_share() {
    if !is_root() {
        return skip("chroot needs root");
    }
    let before = "if (chdir(argv[1]) || chroot(\".\")) return 98";
    let bench = Bench::new();
    let program = bench.build("program", &forking(before, ""), &["-static"]);
    let (store, root) = (Store::new(), tempfile::tempdir().unwrap());
    support::run(store.command(program).arg(root.path()), End::Exit(0));
    assert_shared(&store);
}

#[test]
fn without_the_right_to_write_children_share() {
    if !is_root() {
        return skip("changing the user needs root");
    }
    let before = "if (setgroups(0, 0) || setgid(65534) || setuid(65534)) return 98";
    assert_shared(&Bench::new().run(&forking(before, ""), End::Exit(0)));
}

#[test]
fn under_a_filter_that_kills_children_share_and_live() {
    // The control: in this program the child opens a file, and the filter is no bluff.
    let filter = "forbid(SYS_openat)";
    let store = Bench::new().run(&forking(filter, "open(\"/\", O_RDONLY)"), End::Exit(131));
    assert_shared(&store);
    for call in ["openat", "mkdirat", "getppid", "clock_gettime", "mmap", "fallocate", "pwrite64", "prlimit64"] {
        let store = Bench::new().run(&forking(&format!("forbid(SYS_{call})"), ""), End::Exit(0));
        assert_shared(&store);
    }
}

#[test]
fn under_the_filter_of_a_container_children_get_their_own() {
    if !is_root() {
        return skip("a filter without no_new_privs needs root");
    }
    let bench = Bench::new();
    let program = bench.build("program", &forking("", ""), &[]);
    let container = bench.build(
        "container",
        "#include \"filter.h\"
        #include <unistd.h>
        /* A container runtime has CAP_SYS_ADMIN and need not set no_new_privs. */
        int main(int argc, char **argv) {
          (void)argc;
          struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
          struct sock_fprog program = {1, code};
          if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 98;
          execv(argv[1], argv + 1);
          return 97;
        }",
        &[],
    );
    let store = Store::new();
    support::run(store.command(container).arg(&program), End::Exit(0));
    assert_eq!(hits(&store.counts()), [vec![1, 3], vec![2]]);
    // And one that tightens its filter inside the container shares.
    let tight = bench.build("tight", &forking("forbid(SYS_openat)", ""), &[]);
    let store = Store::new();
    support::run(store.command(bench.path("container")).arg(&tight), End::Exit(0));
    assert_shared(&store);
}

#[test]
fn many_threads_fork_at_once() {
    let store = Bench::new().run(
        "#include \"module.h\"
        #include <pthread.h>
        #include <stdlib.h>
        #include <sys/wait.h>
        #include <unistd.h>
        static void *thread(void *n) {
          for (int i = 0; i < 25; i++) {
            int status, pid = fork();
            if (pid == 0) { hit((unsigned)(size_t)n); _exit(0); }
            if (waitpid(pid, &status, 0) != pid || status) abort();
          }
          return 0;
        }
        int main(void) {
          pthread_t ids[4];
          for (size_t i = 0; i < 4; i++) pthread_create(&ids[i], 0, thread, (void *)(i + 1));
          for (size_t i = 0; i < 4; i++) pthread_join(ids[i], 0);
        }",
        End::Exit(0),
    );
    let counts = store.counts();
    for n in 1..=4 {
        assert_eq!(counts.iter().filter(|c| c.hits() == [n]).count(), 25);
    }
    assert_eq!(counts.len(), 101);
    assert_eq!(store.events().len(), 101);
}
