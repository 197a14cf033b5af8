// Written on one way only: it counts.
// f reads *p; c
// f writes *p
int f(int *p, int c) {
    if (c) *p = 1;
    return *p;
}
