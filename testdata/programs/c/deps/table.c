// A table of functions that never changes: a call through it calls one of them, and nobody else of that signature.
// f reads a; b; i
// g reads b
static int a, b, c;
static int first(int x) { return a + x; }
static int second(int x) { return b; }
static int third(int x) { return c; }
static int (*const table[])(int) = { first, second };
int (*elsewhere)(int) = third;
struct step { const char *name; int (*run)(int); };
static const struct step steps[] = { { "one", second }, { "two", second } };
int f(int i) { return table[i](0); }
int g(int i) { return steps[1].run(i); }
