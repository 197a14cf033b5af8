// The clock.
// f opaque time
#include <time.h>
long f(void) { return time(0); }
