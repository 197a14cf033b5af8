// Destructors on the way out of what is not caught.
// f reads *p; c; level; p
// f writes *p
// outer reads *p; c; level; p
// outer writes *p
static int level;
struct guard {
    int *p;
    ~guard() { *p += level; }
};
static void fail(int c) {
    if (c) throw c;
}
void f(int *p, int c) {
    guard g{p};
    fail(c);
}
int outer(int *p, int c) {
    try {
        f(p, c);
    } catch (int e) {
        return e;
    }
    return 0;
}
