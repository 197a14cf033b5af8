// Does a bit of everything, in several threads, and knows what must come of it. Before each step a test is run that spoils what the step
// is about, in every way it can, and begins with another one each time: many are the test's end. Exits with 1 and says what was
// spoilt if anything was.
//
//   torture DIRECTORY THREADS ROUNDS
//
// To be run with UNSEEN_POLICY=always: each step is a unit.

#define _GNU_SOURCE
#include "unseen.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define SIZE 4096

// What a thread works with.
struct place {
  int number, round;
  char path[512], stream_path[512];
  int file, pipe[2], sockets[2], event, mapped, locked, tty, other_tty, next;
  FILE *stream;
  char *shared, *mapping, *heap;
  pthread_mutex_t mutex;
  pid_t child;
  timer_t timer;
};

static char directory[256];
static int threads, rounds, priority;
static long counted; // behind a lock
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static char global[SIZE];
static __thread int own, signals;

static void fail(const struct place *p, const char *what) {
  fprintf(stderr, "thread %d, round %d: %s (%s)\n", p->number, p->round, what, strerror(errno));
  _exit(1);
}

#define CHECK(what) ((what) ? (void)0 : fail(p, #what))

static void on_signal(int signal) { signals += signal == SIGUSR1; }

// --- files ---

__attribute__((noinline)) void do_file(struct place *p) {
  int word = p->round;
  CHECK(write(p->file, &word, sizeof word) == sizeof word);
  off_t end = lseek(p->file, 0, SEEK_CUR);
  if (p->round % 64)
    return;
  CHECK(lseek(p->file, 0, SEEK_SET) == 0);
  int found;
  long sum = 0;
  off_t at = 0;
  for (; read(p->file, &found, sizeof found) == sizeof found; at += sizeof found)
    sum += found;
  CHECK(at == end);
  long n = end / (off_t)sizeof found;
  CHECK(sum == n * (2L * word - n + 1) / 2);
  struct stat a, b;
  CHECK(!stat(p->path, &a) && !fstat(p->file, &b) && a.st_ino == b.st_ino && a.st_mode == b.st_mode);
}

static int spoil_file(struct place *p) {
  char new[600];
  snprintf(new, sizeof new, "%s/spoilt", directory);
  switch (p->round % 10) {
  case 0:
    lseek(p->file, 0, SEEK_SET);
    (void)!write(p->file, "spoilt", 6);
    // fallthrough
  case 1:
    (void)!ftruncate(p->file, 1);
    // fallthrough
  case 2:
    fchmod(p->file, 0);
    // fallthrough
  case 3:
    (void)!write(open(p->path, O_WRONLY | O_TRUNC), "spoilt", 6);
    // fallthrough
  case 4:
    unlink(p->path);
    // fallthrough
  case 5:
    rename(p->stream_path, p->path);
    // fallthrough
  case 6:
    close(open(new, O_CREAT | O_WRONLY, 0600));
    // fallthrough
  case 7:
    mkdir(new, 0700);
    // fallthrough
  case 8:
    (void)!symlink(p->path, new);
    // fallthrough
  case 9:
    close(p->file);
  }
  return 1;
}
UNSEEN_TEST(do_file, spoil_file)

__attribute__((noinline)) void do_stream(struct place *p) { CHECK(fprintf(p->stream, "%d\n", p->round) > 0); }

static int spoil_stream(struct place *p) {
  switch (p->round % 5) {
  case 0:
    fprintf(p->stream, "spoilt");
    fflush(p->stream);
    // fallthrough
  case 1:
    rewind(p->stream);
    // fallthrough
  case 2:
    fflush(NULL);
    // fallthrough
  case 3:
    printf("spoilt");
    fflush(stdout);
    // fallthrough
  case 4:
    fclose(p->stream);
  }
  return 1;
}
UNSEEN_TEST(do_stream, spoil_stream)

__attribute__((noinline)) void do_lock(struct place *p) {
  int other = open(p->stream_path, O_RDWR);
  CHECK(other >= 0 && flock(other, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK);
  close(other);
}

static int spoil_lock(struct place *p) {
  switch (p->round % 2) {
  case 0:
    flock(p->locked, LOCK_UN);
    // fallthrough
  case 1:
    close(p->locked);
  }
  return 1;
}
UNSEEN_TEST(do_lock, spoil_lock)

// --- what has two ends ---

__attribute__((noinline)) void do_ends(struct place *p) {
  int word = 0;
  CHECK(read(p->pipe[0], &word, sizeof word) == sizeof word && word == p->round);
  CHECK(read(p->sockets[1], &word, sizeof word) == sizeof word && word == ~p->round);
  uint64_t events = 0;
  CHECK(read(p->event, &events, sizeof events) == sizeof events && events == 5);
  char line[64] = "";
  CHECK(read(p->tty, line, sizeof line) > 0 && atoi(line) == p->round);
}

static int spoil_pipe(struct place *p) {
  char bytes[64];
  switch (p->round % 3) {
  case 0:
    (void)!write(p->pipe[1], bytes, sizeof bytes);
    // fallthrough
  case 1:
    (void)!read(p->pipe[0], bytes, sizeof bytes);
    // fallthrough
  case 2:
    close(p->pipe[1]);
  }
  return 1;
}
UNSEEN_TEST(do_ends, spoil_pipe)

static int spoil_socket(struct place *p) {
  char bytes[64];
  switch (p->round % 3) {
  case 0:
    send(p->sockets[0], "spoilt", 6, MSG_DONTWAIT);
    // fallthrough
  case 1:
    recv(p->sockets[1], bytes, sizeof bytes, MSG_DONTWAIT);
    // fallthrough
  case 2:
    shutdown(p->sockets[0], SHUT_RDWR);
  }
  return 1;
}
UNSEEN_TEST(do_ends, spoil_socket)

static int spoil_event(struct place *p) {
  uint64_t events = 7;
  switch (p->round % 3) {
  case 0:
    (void)!write(p->event, &events, sizeof events);
    // fallthrough
  case 1:
    (void)!read(p->event, &events, sizeof events);
    // fallthrough
  case 2:
    fcntl(p->event, F_SETFL, O_NONBLOCK);
  }
  return 1;
}
UNSEEN_TEST(do_ends, spoil_event)

static int spoil_tty(struct place *p) {
  char line[64];
  struct termios mode = {0};
  switch (p->round % 5) {
  case 0:
    tcgetattr(p->tty, &mode);
    // fallthrough
  case 1:
    cfmakeraw(&mode);
    tcsetattr(p->tty, TCSANOW, &mode);
    // fallthrough
  case 2:
    tcflush(p->tty, TCIOFLUSH);
    // fallthrough
  case 3:
    (void)!write(p->other_tty, "spoilt\n", 7);
    // fallthrough
  case 4:
    (void)!read(p->tty, line, sizeof line);
  }
  return 1;
}
UNSEEN_TEST(do_ends, spoil_tty)

// --- memory ---

__attribute__((noinline)) void do_memory(struct place *p) {
  for (int i = 0; i < SIZE; i++)
    CHECK(p->shared[i] == (char)p->round && p->mapping[i] == (char)p->round && p->heap[i] == (char)p->round && global[i] == 1);
  CHECK(own == p->round);
  memset(p->shared, p->round + 1, SIZE);
  memset(p->mapping, p->round + 1, SIZE);
  char *grown = malloc(SIZE);
  CHECK(grown);
  memset(grown, p->round + 1, SIZE);
  free(p->heap);
  p->heap = grown;
  own = p->round + 1;
}

static int spoil_memory(struct place *p) {
  switch (p->round % 8) {
  case 0:
    memset(p->shared, 0x55, SIZE);
    // fallthrough
  case 1:
    memset(p->mapping, 0x55, SIZE);
    msync(p->mapping, SIZE, MS_SYNC);
    // fallthrough
  case 2:
    memset(p->heap, 0x55, SIZE);
    memset(global, 0x55, SIZE);
    own = -1;
    // fallthrough
  case 3:
    free(p->heap);
    // fallthrough
  case 4:
    munmap(p->shared, SIZE);
    // fallthrough
  case 5:
    mprotect(p->mapping, SIZE, PROT_NONE);
    // fallthrough
  case 6:
    madvise(p->shared, SIZE, MADV_REMOVE);
    // fallthrough
  case 7:
    memset(p, 0x55, sizeof *p);
  }
  return 1;
}
UNSEEN_TEST(do_memory, spoil_memory)

static int leak(struct place *p) {
  char *much = malloc(4 << 20);
  return much && memset(much, p->round, 4 << 20) == much;
}
UNSEEN_TEST(do_memory, leak)

// --- signals, timers ---

__attribute__((noinline)) void do_signal(struct place *p) {
  int before = signals;
  CHECK(!pthread_kill(pthread_self(), SIGUSR1));
  CHECK(signals == before + 1);
  struct sigaction now;
  CHECK(!sigaction(SIGUSR1, NULL, &now) && now.sa_handler == on_signal);
  CHECK(!sigaction(SIGCHLD, NULL, &now) && now.sa_handler == SIG_DFL);
  sigset_t mask;
  CHECK(!pthread_sigmask(SIG_SETMASK, NULL, &mask) && !sigismember(&mask, SIGUSR1) && sigismember(&mask, SIGUSR2));
  sigset_t waiting;
  CHECK(!sigpending(&waiting) && !sigismember(&waiting, SIGUSR2));
}

static int spoil_signal(struct place *p) {
  sigset_t all;
  sigfillset(&all);
  switch (p->round % 6) {
  case 0:
    kill(getppid(), SIGUSR1);
    // fallthrough
  case 1:
    kill(0, SIGUSR1);
    // fallthrough
  case 2:
    raise(SIGUSR1);
    // fallthrough
  case 3:
    signal(SIGUSR1, SIG_IGN);
    // fallthrough
  case 4:
    signal(SIGCHLD, SIG_IGN);
    // fallthrough
  case 5:
    sigprocmask(SIG_SETMASK, &all, NULL);
    raise(SIGUSR2);
  }
  return 1;
}
UNSEEN_TEST(do_signal, spoil_signal)

__attribute__((noinline)) void do_timer(struct place *p) {
  struct itimerval process;
  CHECK(!getitimer(ITIMER_REAL, &process) && process.it_interval.tv_sec == 5000 && process.it_value.tv_sec > 3000);
  struct itimerspec own_timer;
  CHECK(!timer_gettime(p->timer, &own_timer) && own_timer.it_interval.tv_sec == 4000);
}

static int spoil_timer(struct place *p) {
  struct itimerval none = {{0, 0}, {0, 0}};
  switch (p->round % 3) {
  case 0:
    setitimer(ITIMER_REAL, &none, NULL);
    // fallthrough
  case 1:
    timer_delete(p->timer);
    // fallthrough
  case 2:
    alarm(1);
  }
  return 1;
}
UNSEEN_TEST(do_timer, spoil_timer)

// --- processes and threads ---

__attribute__((noinline)) void do_child(struct place *p) {
  int status;
  CHECK(waitpid(p->child, &status, 0) == p->child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == (p->round & 63));
}

static int spoil_child(struct place *p) {
  switch (p->round % 4) {
  case 0:
    kill(p->child, SIGKILL);
    // fallthrough
  case 1:
    waitpid(p->child, NULL, 0);
    // fallthrough
  case 2:
    wait(NULL);
    // fallthrough
  case 3:
    if (!fork()) {
      setsid();
      if (!fork()) {
        (void)!write(p->file, "spoilt", 6);
        sleep(1);
      }
      _exit(0);
    }
  }
  return 1;
}
UNSEEN_TEST(do_child, spoil_child)

static int become_another(struct place *p) {
  char new[300];
  snprintf(new, sizeof new, "%s/spoilt", directory);
  execl("/usr/bin/touch", "touch", new, (char *)0);
  return p->number >= 0;
}
UNSEEN_TEST(do_child, become_another)

__attribute__((noinline)) void do_thread(struct place *p) {
  CHECK(pthread_mutex_trylock(&p->mutex) == EBUSY);
  pthread_mutex_lock(&counting);
  counted++;
  pthread_mutex_unlock(&counting);
}

static void *spoil_in_thread(void *argument) {
  struct place *p = argument;
  memset(p->heap, 0x55, SIZE);
  counted = -1;
  return NULL;
}

static int spoil_thread(struct place *p) {
  pthread_t thread;
  if (!pthread_create(&thread, NULL, spoil_in_thread, p))
    pthread_join(thread, NULL);
  pthread_mutex_unlock(&p->mutex);
  pthread_mutex_lock(&p->mutex);
  return 1;
}
UNSEEN_TEST(do_thread, spoil_thread)

__attribute__((noinline)) void do_process(struct place *p) {
  char here[512], name[17] = "";
  CHECK(getcwd(here, sizeof here) && !strcmp(here, directory));
  CHECK(!getenv("SPOILT") && getenv("KEPT") && !strcmp(getenv("KEPT"), "kept"));
  CHECK(!prctl(PR_GET_NAME, name) && !strcmp(name, "torture"));
  struct rlimit files;
  CHECK(!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur > 64);
  CHECK(getpriority(PRIO_PROCESS, 0) == priority);
  int made = open(p->stream_path, O_RDONLY);
  // Numbers of descriptors are given in order: nobody holds one that we don't know of.
  CHECK(made >= 0 && (threads > 1 || made == p->next));
  close(made);
}

static int spoil_process(struct place *p) {
  struct rlimit few = {8, 8};
  switch (p->round % 8) {
  case 0:
    (void)!chdir("/");
    // fallthrough
  case 1:
    umask(0777);
    // fallthrough
  case 2:
    setenv("SPOILT", "1", 1);
    unsetenv("KEPT");
    // fallthrough
  case 3:
    setrlimit(RLIMIT_NOFILE, &few);
    // fallthrough
  case 4:
    (void)!nice(5);
    // fallthrough
  case 5:
    prctl(PR_SET_NAME, "spoilt");
    // fallthrough
  case 6:
    setsid();
    // fallthrough
  case 7:
    for (int fd = 0; fd < 256; fd++)
      close(fd);
  }
  return 1;
}
UNSEEN_TEST(do_process, spoil_process)

// --- ways to end ---

__attribute__((noinline)) int do_end(struct place *p) { return p->round; }

static int call_exit(struct place *p) {
  exit(p->round & 1);
}
UNSEEN_TEST(do_end, call_exit)

static int call_abort(struct place *p) {
  if (p->round >= 0)
    abort();
  return 1;
}
UNSEEN_TEST(do_end, call_abort)

static int crash(struct place *p) {
  *(volatile int *)(long)(p->round & 7) = 1;
  return 1;
}
UNSEEN_TEST(do_end, crash)

static int overflow_stack(struct place *p) {
  volatile char much[65536];
  much[p->round & 255] = 1;
  return p->round < 0 || overflow_stack(p) + much[0];
}
UNSEEN_TEST(do_end, overflow_stack)

static int end_thread(struct place *p) {
  pthread_exit(p);
}
UNSEEN_TEST(do_end, end_thread)

// --- the program ---

static void prepare(struct place *p) {
  snprintf(p->path, sizeof p->path, "%s/file-%d", directory, p->number);
  snprintf(p->stream_path, sizeof p->stream_path, "%s/stream-%d", directory, p->number);
  p->file = open(p->path, O_CREAT | O_RDWR | O_TRUNC, 0600);
  CHECK(p->file >= 0);
  p->stream = fopen(p->stream_path, "w");
  CHECK(p->stream);
  p->locked = open(p->stream_path, O_RDWR);
  CHECK(p->locked >= 0 && !flock(p->locked, LOCK_EX));
  CHECK(!pipe(p->pipe) && !socketpair(AF_UNIX, SOCK_STREAM, 0, p->sockets));
  p->event = eventfd(0, 0);
  char name[512];
  snprintf(name, sizeof name, "%s/mapped-%d", directory, p->number);
  p->mapped = open(name, O_CREAT | O_RDWR | O_TRUNC, 0600);
  CHECK(p->mapped >= 0 && !ftruncate(p->mapped, SIZE));
  p->mapping = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, p->mapped, 0);
  p->shared = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  p->heap = calloc(1, SIZE);
  CHECK(p->mapping != MAP_FAILED && p->shared != MAP_FAILED && p->heap);
  CHECK(!pthread_mutex_init(&p->mutex, NULL) && !pthread_mutex_lock(&p->mutex));
  struct sigevent none = {.sigev_notify = SIGEV_NONE};
  struct itimerspec long_time = {{4000, 0}, {4000, 0}};
  CHECK(!timer_create(CLOCK_MONOTONIC, &none, &p->timer) && !timer_settime(p->timer, 0, &long_time, NULL));
  // We read what comes from the far end.
  CHECK(!openpty(&p->other_tty, &p->tty, NULL, NULL, NULL));
  p->next = dup(p->tty);
  close(p->next);
}

static void begin_round(struct place *p) {
  int word = p->round, other = ~p->round;
  CHECK(write(p->pipe[1], &word, sizeof word) == sizeof word);
  CHECK(write(p->sockets[0], &other, sizeof other) == sizeof other);
  uint64_t events = 5;
  CHECK(write(p->event, &events, sizeof events) == sizeof events);
  char line[16];
  int length = snprintf(line, sizeof line, "%d\n", p->round);
  CHECK(write(p->other_tty, line, length) == length);
  if (threads == 1) {
    p->child = fork();
    if (!p->child)
      _exit(p->round & 63);
    CHECK(p->child > 0);
  }
}

static void finish(struct place *p) {
  CHECK(!fclose(p->stream));
  FILE *written = fopen(p->stream_path, "r");
  CHECK(written);
  int found;
  for (int i = 0; i < rounds; i++)
    CHECK(fscanf(written, "%d", &found) == 1 && found == i);
  CHECK(fscanf(written, "%d", &found) == EOF);
}

static void *work(void *argument) {
  struct place *p = argument;
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  prctl(PR_SET_NAME, "torture");
  prepare(p);
  for (p->round = 0; p->round < rounds; p->round++) {
    begin_round(p);
    do_file(p);
    do_stream(p);
    do_lock(p);
    do_ends(p);
    do_memory(p);
    do_signal(p);
    do_timer(p);
    // Others are waited for in a program of one thread.
    if (threads == 1)
      do_child(p);
    do_thread(p);
    do_process(p);
    CHECK(do_end(p) == p->round);
  }
  finish(p);
  return NULL;
}

static void at_exit(void) {
  char name[300];
  snprintf(name, sizeof name, "%s/exits", directory);
  int exits = open(name, O_CREAT | O_WRONLY | O_APPEND, 0600);
  (void)!write(exits, "x", 1);
  close(exits);
}

int main(int argc, char **argv) {
  if (argc != 4 || chdir(argv[1]) || !getcwd(directory, sizeof directory))
    return 2;
  threads = atoi(argv[2]);
  rounds = atoi(argv[3]);
  priority = getpriority(PRIO_PROCESS, 0);
  memset(global, 1, sizeof global);
  setenv("KEPT", "kept", 1);
  signal(SIGUSR1, on_signal);
  atexit(at_exit);
  struct itimerval long_time = {{5000, 0}, {5000, 0}};
  setitimer(ITIMER_REAL, &long_time, NULL);
  mode_t mask = umask(022);
  umask(mask);
  struct place *places = calloc(threads, sizeof *places);
  pthread_t *running = calloc(threads, sizeof *running);
  for (int i = 0; i < threads; i++)
    places[i].number = i;
  if (threads == 1)
    work(&places[0]);
  for (int i = 0; threads > 1 && i < threads; i++)
    if (pthread_create(&running[i], NULL, work, &places[i]))
      return 2;
  for (int i = 0; threads > 1 && i < threads; i++)
    pthread_join(running[i], NULL);
  if (counted != (long)threads * rounds || umask(mask) != mask || wait(NULL) != -1 || errno != ECHILD) {
    fprintf(stderr, "at the end: %ld counted\n", counted);
    return 1;
  }
  printf("%d threads, %d rounds: nothing was spoilt\n", threads, rounds);
  return 0;
}
