// A program that locks itself in by a filter went wrong in two ways once it called units. Where the filter answers our questions for
// memory with an error, that was taken for memory that is not there, in all states alike: one was tested, and the others were taken
// for seen. Where it kills, it killed the program. Now no test is started from there on, and that is counted. In a container that
// answers so from the start, states of programs with threads can't be told, and all calls are tested.
//
// Without optimisation: else the code of units tells their states by itself.
//
// RUN: UNSEEN_LINK_LEVEL=0 unseen-clang --unseen=state -O1 %s -o prog -lpthread
// RUN: unseen run -- ./prog refuse threads && unseen report --format json | FileCheck --check-prefix=NONE %s; rm -r .unseen
// RUN: unseen run -- ./prog refuse alone && unseen report --format json | FileCheck --check-prefix=NONE %s; rm -r .unseen
// RUN: unseen run -- ./prog kill threads && unseen report --format json | FileCheck --check-prefix=NONE %s; rm -r .unseen
// RUN: unseen run -- ./prog kill alone && unseen report --format json | FileCheck --check-prefix=NONE %s; rm -r .unseen
// RUN: unseen run -- ./prog free threads && unseen report --format json | FileCheck --check-prefix=FREE %s; rm -r .unseen
// RUN: unseen run -- ./prog free alone && unseen report --format json | FileCheck --check-prefix=FREE %s; rm -r .unseen
// RUN: unseen run -- ./prog container threads && unseen report --format json | FileCheck --check-prefix=UNTOLD %s; rm -r .unseen
// RUN: unseen run -- ./prog container alone && unseen report --format json | FileCheck --check-prefix=FREE %s
// NONE: "summary":{"calls":400,{{.*}},"ran":0,{{.*}},"skipped":400,
// UNTOLD: "units":[{"unit":"sum",{{[^}]*}},"calls":200,"unseen":0,"untold":200,"ran":200,"passed":200,
// FREE: "summary":{"calls":400,"unseen":8,"untold":0,"ran":8,"passed":8,{{.*}},"skipped":0,

#include "unseen.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct pair {
  int a, b;
};

__attribute__((noinline)) int sum(const struct pair *p) { return p->a + p->b; }

static int test_sum(const struct pair *p) { return sum(p) == p->a + p->b; }
UNSEEN_TEST(sum, test_sum)

__attribute__((noinline)) int twice(int n) { return 2 * n; }

static int test_twice(int n) { return twice(n) == n + n; }
UNSEEN_TEST(twice, test_twice)

static void *wait_for_ever(void *nothing) {
  pause();
  return nothing;
}

#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int install(struct sock_filter *code, size_t size) {
  struct sock_fprog program = {size / sizeof *code, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int lock_in(unsigned otherwise) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(prctl),
      ALLOW(rt_sigprocmask),
      ALLOW(exit_group),
      BPF_STMT(BPF_RET | BPF_K, otherwise),
  };
  return install(code, sizeof code);
}

static int enter_container(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return install(code, sizeof code);
}

int main(int argc, char **argv) {
  pthread_t other;
  if (argc == 3 && !strcmp(argv[1], "container"))
    return enter_container() || execl(argv[0], argv[0], "free", argv[2], NULL);
  if (argc != 3 || (!strcmp(argv[2], "threads") && pthread_create(&other, NULL, wait_for_ever, NULL)))
    return 2;
  if (!strcmp(argv[1], "refuse") && lock_in(SECCOMP_RET_ERRNO | EPERM))
    return 2;
  if (!strcmp(argv[1], "kill") && lock_in(SECCOMP_RET_KILL_PROCESS))
    return 2;
  int total = 0;
  for (int i = 0; i < 200; i++) {
    struct pair p = {i % 4, 1};
    total += sum(&p) + twice(i % 4);
  }
  if (!strcmp(argv[1], "free"))
    sleep(1);
  return total != 1100;
}
