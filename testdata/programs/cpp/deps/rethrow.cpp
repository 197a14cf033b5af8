// What is thrown again: by who caught it, or by a function that callers call while they handle it.
// f reads c
// g opaque exception; integer-to-pointer
// again opaque exception
// h reads c
// h ends exception
static void again() { throw; }
int f(int c) {
    try {
        try {
            if (c) throw c;
        } catch (...) {
            throw;
        }
    } catch (int &e) {
        return e;
    }
    return 0;
}
int g() {
    try {
        again();
    } catch (int &e) {
        return e;
    }
    return 0;
}
int h(int c) {
    if (c) again();
    return 0;
}
