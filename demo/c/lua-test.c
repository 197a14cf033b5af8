/* Properties of Lua's own functions, attached from outside: Lua's sources are not touched, and know nothing of it. */
#include <stddef.h>
#include <stdio.h>
#include <unseen.h>

/* The logarithm is the smallest that is large enough. */
static int is_the_smallest_power(unsigned x, int r) {
  return (1ull << r) >= x && (r == 0 || (1ull << (r - 1)) < x);
}
UNSEEN_TEST_AFTER_NAMED("luaO_ceillog2", is_the_smallest_power)

/* What is left of a division has the sign of the divisor, and is smaller. */
static int is_smaller_than_the_divisor(void *L, long long m, long long n, long long r) {
  (void)L;
  return n == 0 || (n > 0 ? 0 <= r && r < n : n < r && r <= 0) && (n == -1 || (m - r) % n == 0);
}
UNSEEN_TEST_AFTER_NAMED("luaV_mod", is_smaller_than_the_divisor)

/* Shifting by more bits than there are leaves nothing, and a shift to the left by a negative number goes to the right. */
static int is_a_shift(long long x, long long y, long long r) {
  if (y <= -64 || y >= 64) return r == 0;
  return (unsigned long long)r == (y >= 0 ? (unsigned long long)x << y : (unsigned long long)x >> -y);
}
UNSEEN_TEST_AFTER_NAMED("luaV_shiftl", is_a_shift)

/* A text has one hash. */
UNSEEN_DETERMINISTIC_NAMED("luaS_hash")
