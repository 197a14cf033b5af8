// Elements beside the one that is pointed to.
// f reads p[-1]; p[2]
int f(int *p) { return p[-1] + p[2]; }
