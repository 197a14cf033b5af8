// Locals never count.
// f reads x
// f writes
int f(int x) {
    int a[4] = {0};
    int *p = a;
    p[2] = x;
    return p[2] + a[1];
}
