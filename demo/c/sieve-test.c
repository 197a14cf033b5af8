/* Attached from outside: there is at most one prime more up to n than up to the number before it. */
#include <unseen.h>

int sieve(int n);

static int one_more_or_none(int n) {
  int more = n > 0 ? sieve(n) - sieve(n - 1) : 0;
  return more == 0 || more == 1;
}
UNSEEN_TEST(sieve, one_more_or_none)
