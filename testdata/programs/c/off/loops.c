// Loops that call nothing, of every shape: each has a copy without probes.
#include <stdio.h>
#include <string.h>

static int data[1000];

__attribute__((noinline)) int sum(const int *p, int n) {
  int s = 0;
  for (int i = 0; i < n; i++)
    s += p[i] > 3 ? p[i] : -p[i];
  return s;
}

__attribute__((noinline)) int find(const int *p, int n, int wanted) {
  for (int i = 0; i < n; i++) {
    if (p[i] == wanted)
      return i;
    if (p[i] < 0)
      return -2;
  }
  return -1;
}

__attribute__((noinline)) int nested(int rows, int columns) {
  int found = 0;
  for (int r = 0; r < rows; r++) {
    for (int c = 0; c < columns; c++) {
      if ((r ^ c) % 3 == 0)
        continue;
      if (c > 40)
        break;
      found += data[(r * columns + c) % 1000];
    }
    if (found > 100000)
      goto out;
  }
out:
  return found;
}

__attribute__((noinline)) int automaton(const char *s) {
  int state = 0;
  while (*s) {
    switch (state) {
    case 0:
      state = *s == 'a' ? 1 : 0;
      break;
    case 1:
      state = *s == 'b' ? 2 : *s == 'a' ? 1 : 0;
      break;
    case 2:
      state = *s == 'c' ? 3 : 0;
      break;
    default:
      return state;
    }
    s++;
  }
  return -state;
}

__attribute__((noinline)) unsigned collatz(unsigned n) {
  unsigned steps = 0;
  do {
    n = n % 2 ? 3 * n + 1 : n / 2;
    steps++;
  } while (n != 1);
  return steps;
}

__attribute__((noinline)) void fill(int *p, int n) {
  for (int i = 0; i < n; i++)
    p[i] = 0;
}

__attribute__((noinline)) void partition(int *p, int lo, int hi) {
  while (lo < hi) {
    int pivot = p[(lo + hi) / 2], i = lo, j = hi;
    while (i <= j) {
      while (p[i] < pivot)
        i++;
      while (p[j] > pivot)
        j--;
      if (i <= j) {
        int t = p[i];
        p[i++] = p[j];
        p[j--] = t;
      }
    }
    if (j - lo < hi - i) {
      hi = j < lo + 1 ? lo : j;
    } else {
      lo = i;
    }
  }
}

int main(void) {
  for (int round = 0; round < 5; round++) {
    for (int i = 0; i < 1000; i++)
      data[i] = (i * 7919 + round) % 257;
    printf("%d %d %d %d\n", sum(data, 1000), sum(data, 0), find(data, 1000, 256 - round), find(data, 10, 999));
    data[500] = -1;
    printf("%d %d %d\n", find(data, 1000, 1234), nested(30, 60), nested(round, 3));
    printf("%d %d %d %d\n", automaton("xxabcd"), automaton("aabx"), automaton("ab"), automaton(""));
    printf("%u %u\n", collatz(27 + round), collatz(2));
    partition(data, 0, 999);
    printf("%d %d\n", data[0], data[999]);
    fill(data, 1000 - round);
    printf("%d\n", sum(data, 1000));
  }
  return 0;
}
