// A loop whose counters were all set runs without probes, until what was covered is forgotten: by the program itself, or
// because a child has counters of its own.
#include "unseen.h"
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) int after_reset(const int *p, int n) {
  int s = 0;
  for (int i = 0; i < n; i++)
    s += p[i] & 1 ? 3 : p[i];
  return s;
}

__attribute__((noinline)) int in_child(const int *p, int n) {
  int s = 0;
  for (int i = 0; i < n; i++)
    s += p[i] & 1 ? 5 : p[i];
  return s;
}

__attribute__((noinline)) int killed(volatile int *go_on) {
  int s = 0;
  while (*go_on)
    s = s & 1 ? s * 3 : s + 1;
  return s;
}

static int data[100];

int main(int argc, char **argv) {
  volatile int go_on = 1;
  for (int i = 0; i < 100; i++)
    data[i] = i;
  int s = 0;
  for (int i = 0; i < 10; i++)
    s += after_reset(data, 100) + in_child(data, 100);
  if (argc > 1 && !strcmp(argv[1], "fork")) {
    if (fork() == 0)
      _exit(in_child(data, 100) & 1);
    wait(NULL);
    return s & 1;
  }
  if (argc > 1 && !strcmp(argv[1], "kill")) {
    if (fork() == 0) {
      alarm(1);
      signal(SIGALRM, SIG_DFL);
      killed(&go_on);
    }
    wait(NULL);
    return 0;
  }
  unseen_cover_reset();
  return after_reset(data, 100) & 1;
}
