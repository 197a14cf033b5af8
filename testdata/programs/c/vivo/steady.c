// Calls a unit for so many tenths of a second, in ten states, two of which fail its test; says half of it on standard error. Ends with 7,
// or with 42 when it is asked to end.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <unseen.h>

int unit(int a) { return a * 2; }
static int is_fine(int a) { return unit(a) % 5 != 4; }
static int is_even(int a) { return unit(a) % 2 == 0; }
UNSEEN_TEST(unit, is_fine)
UNSEEN_TEST(unit, is_even)

static void asked(int signal) { _exit(42); }

int main(int count, char **arguments) {
  int tenths = count > 1 ? atoi(arguments[1]) : 10;
  signal(SIGTERM, asked);
  puts("ready");
  fflush(stdout);
  long sum = 0;
  for (int i = 0; i < tenths * 10; i++) {
    sum += unit(i % 10);
    if (i == tenths * 5) fputs("half\n", stderr);
    usleep(10000);
  }
  printf("%ld\n", sum);
  return 7;
}
