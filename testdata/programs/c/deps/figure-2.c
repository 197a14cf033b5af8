// The paper's Figure 2: the callee's set is inherited, its parameter is the caller's argument.
// f1 reads a; b; p1; p2; p3
// g reads b; p
int a, b;
int g(int p) {
    int m = p * b;
    return m * m - b;
}
int f1(int p1, int p2, int p3) {
    int k = 8;
    int t = a + 1;
    if (p1 > p2) return g(p3);
    else return p2 - t;
}
