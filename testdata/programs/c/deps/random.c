// Random numbers.
// f opaque random
#include <stdlib.h>
int f(void) { return rand(); }
