// An argument of a callee that does not use it is not used.
// f reads q
static int g(int p, int q) { return q; }
int f(int p, int q) { return g(p, q); }
