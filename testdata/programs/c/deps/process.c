// The process.
// f opaque process
#include <unistd.h>
int f(void) { return getpid(); }
