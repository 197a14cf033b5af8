// Memory that was just allocated is nobody's state.
// f reads x
// f writes
#include <stdlib.h>
int f(int x) {
    int *p = malloc(2 * sizeof *p);
    if (!p) return 0;
    p[0] = x;
    int r = p[0] + x;
    free(p);
    return r;
}
