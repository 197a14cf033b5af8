/* The sandbox, reached through the entry points that only tests have (`src/trial.rs`). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct limits {
  uint64_t deadline_ns, cpu_seconds, memory_bytes, at_once, strict;
};
enum { NONE, PASS, FAIL, CRASH, TIMEOUT, ENVIRONMENT };
struct report {
  volatile uint32_t outcome;
  uint32_t test, code, missing;
  uint64_t address, wall_ns, cpu_ns, stall_ns, left_out;
  uint32_t supervisor, output_length;
  char why[128], output[512];
  uint32_t thread;
  char thread_name[16], modules[1024], callers[1024], place[1024];
};
enum { HOST, TEST, BUSY, FAILED };
#ifdef __cplusplus
extern "C" {
#define _Noreturn [[noreturn]]
#endif
int __unseen_trial_split(const struct limits *, uint32_t, const char *);
struct range {
  const volatile void *start;
  size_t length;
};
/* The fork may leave out all memory but these. */
int __unseen_trial_project(const struct limits *, uint32_t, const char *, const struct range *, size_t);
_Noreturn void __unseen_trial_leave(int);
int __unseen_trial_is_test(void);
const struct report *__unseen_trial_report(uint32_t);
uint32_t __unseen_trial_count(uint32_t);
void __unseen_trial_end_all(void);
void __unseen_trial_crash(uint32_t);
int __unseen_trial_walk(uint64_t *, uint32_t);
int __unseen_trial_walk_trapped(const void *, uint64_t *, uint32_t);
#ifdef __cplusplus
}
#endif

static struct limits limits = {5000000000ull, 5, 256ull << 20, 4, 1};
static char scratch[512];

__attribute__((constructor)) static void find_scratch(void) {
  const char *dir = getenv("TRIAL");
  snprintf(scratch, sizeof scratch, "%s/scratch", dir ? dir : "/tmp");
}

static inline double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Sleeps on whatever signals may come. */
static inline void pause_ms(int ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&t, &t) && errno == EINTR) {}
}

static inline void fail(int line, const char *what) {
  dprintf(2, "line %d: %s\n", line, what);
  abort();
}
#define CHECK(x) ((x) ? (void)0 : fail(__LINE__, #x))

static inline const struct report *await(uint32_t test) {
  const struct report *r = __unseen_trial_report(test);
  for (int i = 0; i < 30000 && !r->outcome; i++) pause_ms(1);
  CHECK(r->outcome);
  return r;
}

/* Runs BODY, which may `return` a verdict, in a sandbox; gives the report. Who has just reported may still be about to end, and count. */
#define SANDBOX(name, ...)                                   \
  static int name##_body(void) { __VA_ARGS__; return 1; }    \
  static const struct report *name(void) {                   \
    static uint32_t count;                                   \
    int side = BUSY;                                         \
    for (int i = 0; i < 10000 && side == BUSY; i++) {        \
      if (i) pause_ms(1);                                    \
      side = __unseen_trial_split(&limits, count % 64, scratch); \
    }                                                        \
    if (side == TEST) __unseen_trial_leave(name##_body());   \
    CHECK(side == HOST);                                     \
    return await(count++ % 64);                              \
  }

static inline const char *outcome_name(const struct report *r) {
  static const char *names[] = {"none", "pass", "fail", "crash", "timeout", "environment"};
  return names[r->outcome];
}
/* Says what became of a test, and wants it to be that. */
static inline void expect(int line, const struct report *r, uint32_t outcome, const char *why) {
  if (r->outcome == outcome && strstr(r->why, why)) return;
  dprintf(2, "line %d: %s (%s), code %u, address %lx, missing %u, output: %.*s\n", line, outcome_name(r), r->why, r->code,
          (unsigned long)r->address, r->missing, (int)r->output_length, r->output);
  abort();
}
#define EXPECT(report, outcome) expect(__LINE__, report, outcome, "")
#define EXPECT_WHY(report, why) expect(__LINE__, report, ENVIRONMENT, why)
