// What is registered for the end runs when the process exits: whoever exits does not list it, and says so.
// f opaque process
// g reads n
// g ends exit
#include <stdlib.h>
static int level, done;
static void at_end(void) { done = level; }
int f(void) { return atexit(at_end); }
int g(int n) {
    if (n > 9) exit(n);
    return n + 1;
}
