// A new thread runs code of the program.
// f opaque threads
#include <pthread.h>
static void *run(void *p) { return p; }
int f(pthread_t *t) { return pthread_create(t, 0, run, 0); }
