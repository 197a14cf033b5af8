/* How long a program stands still for a test, by how much memory it has touched: fork ROUNDS MEGABYTES...
   For each size one line: megabytes, then in us the median, the least and the most, for a fork of all memory, and for one that leaves
   out what the test does not need. Both in turn, ten at a time, in one process. Linked with the sandbox of the runtime (`scripts/build-runtime trial`). */
#define _GNU_SOURCE
#include "trial.h"

static int compare(const void *a, const void *b) { return *(const uint64_t *)a > *(const uint64_t *)b ? 1 : -1; }

/* The stall of one test, in ns. */
static uint64_t stall(const struct range *keep) {
  int side = BUSY;
  while (side == BUSY) {
    side = keep ? __unseen_trial_project(&limits, 0, scratch, keep, 1) : __unseen_trial_split(&limits, 0, scratch);
    if (side == TEST) __unseen_trial_leave(!keep || *(volatile char *)keep->start == 1);
    if (side == BUSY) pause_ms(1);
  }
  CHECK(side == HOST);
  const struct report *r = await(0);
  EXPECT(r, PASS);
  /* Its supervisor is gone, too. */
  pause_ms(1);
  return r->stall_ns;
}

int main(int argc, char **argv) {
  CHECK(argc > 2);
  int rounds = atoi(argv[1]);
  uint64_t *stalls[2] = {calloc(rounds, 8), calloc(rounds, 8)};
  for (int i = 2; i < argc; i++) {
    size_t size = strtoul(argv[i], 0, 10) << 20;
    char *all = mmap(0, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(all != MAP_FAILED);
    memset(all, 1, size + 4096);
    struct range keep = {all + size / 2, 64};
    for (int first = 0; first < rounds; first += 10)
      for (int part = 0; part < 2; part++) {
        /* What the others have left in caches is not what is asked for. */
        stall(part ? &keep : 0);
        for (int round = first; round < rounds && round < first + 10; round++) stalls[part][round] = stall(part ? &keep : 0);
      }
    printf("%s", argv[i]);
    for (int part = 0; part < 2; part++) {
      qsort(stalls[part], rounds, 8, compare);
      printf(" %.1f %.1f %.1f", stalls[part][rounds / 2] / 1e3, stalls[part][0] / 1e3, stalls[part][rounds - 1] / 1e3);
    }
    printf("\n");
    munmap(all, size + 4096);
  }
  return 0;
}
