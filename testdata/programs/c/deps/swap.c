// Both are read before they are written.
// f reads *p; *q
// f writes *p; *q
int f(int *p, int *q) {
    int t = *p;
    *p = *q;
    *q = t;
    return *p;
}
