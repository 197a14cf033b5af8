// Written on all ways: it does not count.
// f reads c
// f writes *p
int f(int *p, int c) {
    if (c) *p = 1;
    else *p = 2;
    return *p;
}
