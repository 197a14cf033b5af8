// Calls units very often in random states, and knows by itself which states these were: it prints each once.
//
//     oracle SEED CALLS [children]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unseen.h>

struct node {
  short value;
  struct node *next;
};
static int bias;
static struct {
  unsigned char kind;
  long size;
} header;

#define UNIT __attribute__((noinline)) static
UNIT int mix(int a, short b) { return a * 3 + b + bias; }
UNIT long wide(long a) { return a + header.size * header.kind; }
UNIT int sum(const struct node *list) {
  int s = 0;
  for (; list; list = list->next) s += list->value;
  return s;
}
UNIT int letters(const char *text) { return (int)strlen(text); }
static int mix_is_fine(int a, short b) { return mix(a, b) == mix(a, b); }
static int wide_is_fine(long a) { return wide(a) == wide(a); }
static int sum_is_fine(const struct node *list) { return sum(list) == sum(list); }
static int letters_is_fine(const char *text, int n) { return n == (int)strlen(text); }
UNSEEN_TEST(mix, mix_is_fine)
UNSEEN_TEST(wide, wide_is_fine)
UNSEEN_TEST(sum, sum_is_fine)
UNSEEN_TEST_AFTER(letters, letters_is_fine)

// All states that were met, as texts.
#define PLACES (1 << 16)
static char *met[PLACES];
static void meet(const char *state) {
  unsigned h = 2166136261u;
  for (const char *c = state; *c; c++) h = (h ^ (unsigned char)*c) * 16777619u;
  for (unsigned i = h % PLACES;; i = (i + 1) % PLACES) {
    if (met[i] && strcmp(met[i], state)) continue;
    if (!met[i]) met[i] = strdup(state);
    return;
  }
}

static unsigned long seed;
static unsigned below(unsigned n) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(seed >> 33) % n;
}

static long work(long calls) {
  struct node nodes[4];
  long result = 0;
  for (long i = 0; i < calls; i++) {
    char state[200];
    int a = (int)below(6) * 1000003, b = (int)below(3) - 1;
    switch (below(4)) {
    case 0:
      bias = (int)below(4);
      snprintf(state, sizeof state, "mix %d %d %d", a, b, bias);
      meet(state);
      result += mix(a, (short)b);
      break;
    case 1:
      header.kind = (unsigned char)below(3), header.size = (long)below(3) << 40;
      snprintf(state, sizeof state, "wide %d %d %ld", a, header.kind, header.size);
      meet(state);
      result += wide(a);
      break;
    case 2: {
      int length = (int)below(4), at = snprintf(state, sizeof state, "sum");
      struct node *list = 0;
      for (int n = 0; n < length; n++) {
        // On the stack or on the heap, wherever.
        struct node *node = below(2) ? &nodes[n] : malloc(sizeof *node);
        memset(node, (int)below(256), sizeof *node);
        *node = (struct node){(short)below(4), list};
        list = node;
      }
      for (struct node *n = list; n; n = n->next) at += snprintf(state + at, sizeof state - (size_t)at, " %d", n->value);
      meet(state);
      result += sum(list);
      break;
    }
    default: {
      char text[8];
      int length = (int)below(4);
      memset(text, (int)below(256), sizeof text);
      for (int n = 0; n < length; n++) text[n] = (char)('a' + below(4));
      text[length] = 0;
      snprintf(state, sizeof state, "letters %s", text);
      meet(state);
      result += letters(text);
    }
    }
  }
  return result;
}

int main(int argc, char **argv) {
  seed = strtoul(argv[1], 0, 10);
  long calls = atol(argv[2]), sum = 0;
  int children = argc > 3 ? atoi(argv[3]) : 0;
  for (int i = 0; i < children; i++)
    if (!fork()) {
      seed = seed * 31 + (unsigned long)i;
      work(calls);
      for (int n = 0; n < PLACES; n++)
        if (met[n]) printf("%s\n", met[n]);
      fflush(stdout);
      _exit(0);
    }
  sum = work(calls);
  while (wait(0) > 0) continue;
  for (int n = 0; n < PLACES; n++)
    if (met[n]) printf("%s\n", met[n]);
  return sum == 42;
}
