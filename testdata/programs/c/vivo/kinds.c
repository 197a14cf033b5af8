// Tests before and after a unit, units that must do the same twice, and one that is rescued.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unseen.h>

static int limit = 100;
static int count;

// After: wrong for 7.
__attribute__((noinline)) static int clip(int a) {
  if (a == 7)
    limit = 5;
  return a > limit ? limit : a;
}
static int clip_is_small(int a, int result) { return result <= a; }
static int clip_keeps_the_limit(int a, int result) {
  (void)a, (void)result;
  return limit == 100;
}
UNSEEN_TEST_AFTER(clip, clip_is_small)
UNSEEN_TEST_AFTER(clip, clip_keeps_the_limit)

// Nothing is returned: what is left behind counts.
__attribute__((noinline)) static void add(int *to, int n) { *to += n == 3 ? -n : n; }
static int add_adds(int *to, int n) { return *to >= n; }
UNSEEN_TEST_AFTER(add, add_adds)

struct large {
  long words[6];
};
__attribute__((noinline)) static struct large make(long n) {
  struct large l;
  for (int i = 0; i < 6; i++)
    l.words[i] = n == 2 ? 0 : n + i;
  return l;
}
static int make_counts(long n, const struct large *made) { return made->words[5] == n + 5; }
UNSEEN_TEST_AFTER(make, make_counts)

// The same each time.
__attribute__((noinline)) static int square(int a) { return a * a; }
UNSEEN_DETERMINISTIC(square)
// Not the same: it counts, but that is part of the state. The clock is not.
__attribute__((noinline)) static int next(void) { return ++count; }
UNSEEN_DETERMINISTIC(next)
__attribute__((noinline)) static long now(int a) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_nsec + a;
}
UNSEEN_DETERMINISTIC(now)
static int tick;
__attribute__((noinline)) static void stamp(int a) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  tick = (int)t.tv_nsec + a;
}
UNSEEN_DETERMINISTIC(stamp)
__attribute__((noinline)) static struct large fill(long n) { return make(n + 1); }
UNSEEN_DETERMINISTIC(fill)

__attribute__((noinline)) static int handle(int request) { return request + limit; }
static void note(int request) { printf("strange: %d\n", request); }
UNSEEN_RESCUE(handle, note)

int main(int argc, char **argv) {
  int sum = 0, total = 10;
  for (int i = 0; i < 3; i++)
    for (int a = 5; a < 9; a++) {
      limit = 100;
      sum += clip(a);
    }
  limit = 100;
  for (int n = 1; n < 5; n++) {
    total = 0;
    add(&total, n);
  }
  for (long n = 1; n < 4; n++)
    sum += (int)make(n).words[0];
  sum += square(3) + square(3) + square(4) + next() + next();
  (void)now(1);
  stamp(1);
  sum += (int)fill(5).words[2];
  int last = argc > 1 ? atoi(argv[1]) : 3;
  for (int r = 0; r < last; r++)
    sum += handle(r);
  printf("%d %d\n", sum, total);
  return 0;
}
