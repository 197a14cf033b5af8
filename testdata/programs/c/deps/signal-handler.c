// A handler is put in place: that is the process, not the state. What the handler reads is its own.
// f reads s
// f opaque process
// on_signal reads level
// on_signal writes caught
#include <signal.h>
static int level;
static volatile int other;
static int caught;
static void on_signal(int s) { caught = level; }
void f(int s) { signal(s, on_signal); }
