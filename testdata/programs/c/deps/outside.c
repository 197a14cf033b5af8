// Without main it is a library: who knows what pointers its callers bring.
// f reads *p; get; p
// f opaque indirect-call
static int get1(int *p) { return p[0]; }
int (*table[1])(int *) = {get1};
int f(int (*get)(int *), int *p) { return get(p) + *p; }
