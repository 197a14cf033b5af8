// A new thread: what it reads while the call lasts is not known. What it is started with is read.
// f reads arg; id
// f opaque threads
// run reads p[0..4]
#include <pthread.h>
static void *run(void *p) { return (void *)(long)*(int *)p; }
int f(pthread_t *id, int *arg) { return pthread_create(id, 0, run, arg); }
