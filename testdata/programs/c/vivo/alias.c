// What is written behind a pointer may be what is read: then the state is another one. And a result that is returned in memory is
// no parameter of the test.
#include <stdio.h>
#include <unseen.h>

struct large { long n[8]; };
int g = 1, other = 1;

__attribute__((noinline)) int bump(int *p) { *p = 7; return g; }
static int bump_is_small(int *p) { return bump(p) < 5; }
UNSEEN_TEST(bump, bump_is_small)

__attribute__((noinline)) struct large fill(long n) { return (struct large){{n}}; }
static int fill_is_small(long n) { return fill(n).n[0] < 3; }
UNSEEN_TEST(fill, fill_is_small)

int main(void) {
  int sum = bump(&other);
  other = 1;
  sum += bump(&g);
  for (int i = 0; i < 6; i++) sum += fill(i % 4).n[0];
  printf("%d\n", sum);
}
