// Tests that end in all ways. Nothing of it reaches the program, which prints the same as ever.
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unseen.h>

static int counter, children;

static void child_ended(int signal) { children++; }
int unit(int a) { return ++counter + a; }

static int passes(int a) { return unit(a) > 0; }
static int fails(int a) { return unit(a) < 0; }
static void asserts(int a) { assert(a < 0); }
static int crashes(int a) { return *(volatile int *)(long)(a + 8); }
static int exits(int a) { exit(a + 3); }
static int hangs(int a) { for (volatile int i = 0;; i++) ; }
static int talks(int a) { return socket(AF_INET, SOCK_STREAM, 0) >= 0; }
static int forks(int a) { return fork() >= 0; }
static int writes(int a) { FILE *f = fopen("made-by-test", "w"); return f && fputs("x", f) >= 0; }
static int clobbers(int a) { memset(&counter, 0x55, sizeof counter); close(0); close(1); close(2); return 1; }
UNSEEN_TEST(unit, passes)
UNSEEN_TEST(unit, fails)
UNSEEN_TEST(unit, asserts)
UNSEEN_TEST(unit, crashes)
UNSEEN_TEST(unit, exits)
UNSEEN_TEST(unit, hangs)
UNSEEN_TEST(unit, talks)
UNSEEN_TEST(unit, forks)
UNSEEN_TEST(unit, writes)
UNSEEN_TEST(unit, clobbers)

int main(void) {
  signal(SIGCHLD, child_ended);
  int sum = unit(1) + unit(2);
  int none = wait(0);
  printf("%d %d %d %d\n", sum, counter, children, none);
}
