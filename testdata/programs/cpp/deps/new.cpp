// Memory that was just allocated is nobody's state.
// f reads x
int f(int x) {
    int *p = new int(x);
    int r = *p;
    delete p;
    return r;
}
