// The reason is inherited.
// f opaque external
int mystery(int);
static int g(int x) { return mystery(x); }
int f(int x) { return g(x) + 1; }
