// The contents of a caught exception.
// f opaque exception
int f(int c) {
    try {
        if (c) throw c;
    } catch (int &e) {
        return e;
    }
    return 0;
}
