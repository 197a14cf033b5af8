// The library calls back.
// f reads a; key; n; p[*]; p[0..]
// f writes p[0..]
#include <stdlib.h>
int a, key;
static int by(const void *x, const void *y) { return *(const int *)x - *(const int *)y + key; }
int f(int *p, unsigned long n) {
    qsort(p, n, sizeof *p, by);
    return a;
}
