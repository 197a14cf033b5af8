// What was caught was made after the call began: only the pointers in it may lead to the state before.
// f reads c
// g reads a; b
// h reads p
// h opaque exception
// by_pointer reads e
// by_pointer opaque exception
struct error {
    int code;
    const int *where;
};
int f(int c) {
    try {
        if (c) throw c;
    } catch (int &e) {
        return e;
    }
    return 0;
}
static void fail(int a, int b) {
    if (a < b) throw error{b, nullptr};
}
int g(int a, int b) {
    try {
        fail(a, b);
    } catch (const error &e) {
        return e.code;
    }
    return 1;
}
int h(const int *p) {
    try {
        throw error{1, p};
    } catch (const error &e) {
        return *e.where;
    }
}
int by_pointer(error *e) {
    try {
        throw e;
    } catch (error *caught) {
        return caught->code;
    }
}
