// The paper's Figure 1: a parameter that is not used is no dependency.
// f reads a; p1; p2
// f writes
int a;
int f(int p1, int p2, int p3) {
    int k = 8;
    int t = a + 1;
    if (p1 > p2) return k + t;
    else return p2 - t;
}
