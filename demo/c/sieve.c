/* The experiment of the paper: a function is called a hundred times, in so many states that no test has seen yet.
 *
 *     sieve DISTINCT SIZE        prints how long the calls took, in ns, and what they found
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* How many primes there are up to n. */
int sieve(int n) {
  char *composite = calloc((size_t)n + 1, 1);
  if (!composite) return -1;
  int primes = 0;
  for (int i = 2; i <= n; i++) {
    if (composite[i]) continue;
    primes++;
    for (long k = (long)i * i; k <= n; k += i) composite[k] = 1;
  }
  free(composite);
  return primes;
}

static long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(int argc, char **argv) {
  int distinct = argc > 1 ? atoi(argv[1]) : 0, size = argc > 2 ? atoi(argv[2]) : 100000;
  long sum = 0, start = now();
  for (int i = 0; i < 100; i++) sum += sieve(i < distinct ? size - 1 - i : size);
  printf("%ld %ld\n", now() - start, sum);
}
