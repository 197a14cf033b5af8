// A callee that allocates and fills.
// f reads x
// f writes
#include <stdlib.h>
struct s { int *p; int x; };
static struct s *make(int x) {
    struct s *s = malloc(sizeof *s);
    if (s) { s->x = x; s->p = &s->x; }
    return s;
}
int f(int x) {
    struct s *s = make(x);
    int r = s ? *s->p : 0;
    free(s);
    return r;
}
