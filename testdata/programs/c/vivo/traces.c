// Units whose states are told by what their calls are about to read (pass/shim/traces.cpp), in all the ways in which that could go wrong. It
// knows by itself which states it met, by what is really read, and prints each once.
//
//     traces SEED CALLS [THREADS]
//     traces null          reads through a null pointer: its test is to find that before the program dies of it
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unseen.h>

#define UNIT __attribute__((noinline)) static
struct item {
  int kind, value;
  struct item *other;
};

// Reads one of two things: what it does not read does not count.
UNIT int either(const struct item *i) { return i->kind ? i->value : i->other->value; }
static int either_is_fine(const struct item *i) { return either(i) == either(i); }
UNSEEN_TEST(either, either_is_fine)

// Reads what it may have written by then: whether it has depends on where the pointers lead.
UNIT int after_write(int *to, const int *from) {
  *to = 7;
  return *from;
}
static int after_write_is_fine(int *to, const int *from) { return after_write(to, from) >= 0; }
UNSEEN_TEST(after_write, after_write_is_fine)

// Writes in a loop what it reads in the next round.
UNIT int rounds(int *values, int n) {
  int sum = 0;
  for (int i = 0; i + 1 < n; i++) {
    values[i + 1] += values[i] & 1;
    sum += values[i + 1];
  }
  return sum;
}
static int rounds_is_fine(int *values, int n) { return rounds(values, n) >= 0; }
UNSEEN_TEST(rounds, rounds_is_fine)

// Whether two pointers are the same is all that counts of them. No trace without their addresses, and none is the same in two threads.
UNIT int same(const struct item *a, const struct item *b) { return a == b ? 1 : a->value; }
static int same_is_fine(const struct item *a, const struct item *b) { return same(a, b) >= 0; }
UNSEEN_TEST(same, same_is_fine)

// Divides by what it reads.
UNIT int share(const int *n) { return 1000 / *n; }
static int share_is_fine(const int *n) { return *n == 0 || share(n) <= 1000; }
UNSEEN_TEST(share, share_is_fine)

// Longer than what a trace may take.
UNIT int longest(const signed char *bytes, int n) {
  int best = 0, run = 0;
  for (int i = 0; i < n; i++) {
    run = bytes[i] > 0 ? run + 1 : 0;
    if (run > best) best = run;
  }
  return best;
}
static int longest_is_fine(const signed char *bytes, int n) { return longest(bytes, n) <= n; }
UNSEEN_TEST(longest, longest_is_fine)

static char *met[1 << 16];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void meet(const char *state) {
  unsigned h = 2166136261u;
  for (const char *c = state; *c; c++) h = (h ^ (unsigned char)*c) * 16777619u;
  pthread_mutex_lock(&lock);
  for (unsigned i = h % (1 << 16);; i = (i + 1) % (1 << 16)) {
    if (met[i] && strcmp(met[i], state)) continue;
    if (!met[i]) met[i] = strdup(state);
    break;
  }
  pthread_mutex_unlock(&lock);
}

static long calls;
static void *work(void *argument) {
  unsigned long seed = (unsigned long)argument;
#define BELOW(n) (seed = seed * 6364136223846793005u + 1442695040888963407u, (unsigned)(seed >> 33) % (n))
  static signed char many[2][400];
  long result = 0;
  for (long i = 0; i < calls; i++) {
    char state[200];
    switch (BELOW(6)) {
    case 0: {
      // Where they lie does not count.
      struct item *heap = malloc(2 * sizeof *heap), on_stack[2], *two = BELOW(2) ? heap : on_stack;
      two[0] = (struct item){(int)BELOW(2), (int)BELOW(8), &two[1]}, two[1] = (struct item){(int)BELOW(9), (int)BELOW(8), 0};
      snprintf(state, sizeof state, "either %d %d", two->kind, two->kind ? two->value : two[1].value);
      meet(state);
      result += either(two);
      free(heap);
      break;
    }
    case 1: {
      int two[2] = {(int)BELOW(4), (int)BELOW(4)}, *from = &two[BELOW(2)];
      // What it has written is no state.
      if (from == two) snprintf(state, sizeof state, "after_write same %d", two[0]);
      else snprintf(state, sizeof state, "after_write other %d", two[1]);
      meet(state);
      result += after_write(two, from);
      break;
    }
    case 2: {
      int values[3] = {(int)BELOW(3), (int)BELOW(3), (int)BELOW(3)}, n = (int)BELOW(3) + 1;
      snprintf(state, sizeof state, "rounds %d %d %d %d", n, n > 1 ? values[0] : 0, n > 1 ? values[1] : 0, n > 2 ? values[2] : 0);
      meet(state);
      result += rounds(values, n);
      break;
    }
    case 3: {
      static struct item two[2] = {{1, 2, 0}, {3, 4, 0}};
      int a = (int)BELOW(2), b = (int)BELOW(2);
      snprintf(state, sizeof state, "same %d %d", a, b);
      meet(state);
      result += same(&two[a], &two[b]);
      break;
    }
    case 4: {
      int n = (int)BELOW(7) - 3;
      if (!n) break;
      snprintf(state, sizeof state, "share %d", n);
      meet(state);
      result += share(&n);
      break;
    }
    default: {
      int n = (int)BELOW(4) * 130, which = (int)BELOW(2);
      pthread_mutex_lock(&lock);
      if (!many[1][399]) many[1][399] = 1, memset(many[1], 1, 200);
      pthread_mutex_unlock(&lock);
      snprintf(state, sizeof state, "longest %d %d", n, n ? which : 0);
      meet(state);
      result += longest(many[which], n);
    }
    }
  }
  return (void *)result;
}

int main(int argc, char **argv) {
  if (!strcmp(argv[1], "null")) return either(&(struct item){0, 0, 0});
  unsigned long seed = strtoul(argv[1], 0, 10);
  calls = atol(argv[2]);
  pthread_t threads[8];
  int count = argc > 3 ? atoi(argv[3]) : 0;
  for (int i = 0; i < count; i++) pthread_create(&threads[i], 0, work, (void *)(seed * 31 + (unsigned long)i));
  if (!count) work((void *)seed);
  for (int i = 0; i < count; i++) pthread_join(threads[i], 0);
  for (int n = 0; n < 1 << 16; n++)
    if (met[n]) printf("%s\n", met[n]);
  return 0;
}
