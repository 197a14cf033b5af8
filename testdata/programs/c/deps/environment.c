// The environment.
// f opaque environment
#include <stdlib.h>
int f(void) { return getenv("HOME") != 0; }
