// As many bytes as a parameter says.
// f reads n; p[0..n]; q[0..n]
#include <string.h>
int f(const void *p, const void *q, unsigned long n) { return memcmp(p, q, n); }
