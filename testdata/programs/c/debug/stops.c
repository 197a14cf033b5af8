// Debuggers stop where they would without us: see driver/tests/debug_info.rs, which knows these lines.
#include <stdio.h>

struct pair {
  int first;
  int second;
};

static int add(int a, int b) {
  int sum = a + b;
  if (sum > 10)
    sum -= 10;
  return sum;
}

static int walk(struct pair *pairs, int count) {
  int total = 0;
  for (int i = 0; i < count; i++)
    total += add(pairs[i].first, pairs[i].second);
  return total;
}

int main(void) {
  struct pair pairs[] = {{1, 2}, {30, 4}};
  printf("%d\n", walk(pairs, 2));
  return 0;
}
