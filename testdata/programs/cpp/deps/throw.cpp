// A call that throws: what is certainly written is so only if it returns.
// f reads *p; c
// f writes *p
static void g(int *p, int c) {
    if (c) throw 1;
    *p = 1;
}
int f(int *p, int c) {
    try {
        g(p, c);
    } catch (...) {
        return *p;
    }
    return *p;
}
