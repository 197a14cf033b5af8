// Blocks that hold nothing but a probe and a jump, behind all kinds of branches: in the second body the branches lead past them.
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

// One test, one jump past the others.
NOINLINE int compare(const char *a, size_t m, const char *b, size_t n, size_t both) {
  int r = memcmp(a, b, both);
  if (r == 0) {
    if (m < n)
      r = -1;
    else if (m > n)
      r = 1;
  }
  return r;
}

// Equality of floating-point numbers takes two branches, which have no reverse.
NOINLINE int fold(int op, double a, double b, double *out) {
  switch (op) {
  case 0: *out = a + b; break;
  case 1: *out = a - b; break;
  case 2: *out = a * b; break;
  case 3: if (b == 0) return 0; *out = a / b; break;
  case 4: if (b != 0) *out = (a - b) * b; break;
  case 5: if (a == b) break; *out = b; break;
  case 6: case 7: break;
  case 8: if (a != b) return 2; break;
  default: return 0;
  }
  if (*out == 0 || *out != *out)
    return 0;
  return 1;
}

// A table with entries that only jump on.
NOINLINE int kind(unsigned c) {
  int n = 0;
  for (int i = 0; i < 3; i++) {
    switch (c + i) {
    case 0: n += puts("zero") > 0; break;
    case 1: break;
    case 2: break;
    case 3: n += 3; break;
    case 4: break;
    case 5: n += puts("five") > 0; break;
    case 6: n ^= 6; break;
    case 7: return n;
    case 8: break;
    default: n += 100;
    }
  }
  return n;
}

// One probe, reached through a pointer.
static int seven(void) { return 7; }
static int eight(void) { return 8; }
static int (*const volatile getters[])(void) = {seven, eight};

int main(void) {
  const char *words[] = {"", "a", "ab", "b", "bb"};
  for (int a = 0; a < 5; a++)
    for (int b = 0; b < 5; b++) {
      size_t m = strlen(words[a]), n = strlen(words[b]);
      int r = compare(words[a], m, words[b], n, m < n ? m : n);
      printf("%d ", (r > 0) - (r < 0));
    }
  puts("");
  double numbers[] = {0, 1, -2.5, NAN, INFINITY};
  for (int op = -1; op < 10; op++)
    for (int a = 0; a < 5; a++)
      for (int b = 0; b < 5; b++) {
        double out = 3;
        int r = fold(op, numbers[a], numbers[b], &out);
        printf("%d:%g ", r, out != out ? 99 : out);
      }
  puts("");
  for (unsigned c = 0; c < 12; c++)
    printf("%d\n", kind(c));
  printf("%d\n", getters[0]() + getters[1]());
  return 0;
}
