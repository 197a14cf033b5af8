// The paper's Figure 2, as member functions: the callee's object is the caller's member.
// f reads p1; p2; p3; this->a; this->in.b
struct inner {
    int b;
    int g(int p) const { int m = p * b; return m * m - b; }
};
struct s {
    int a;
    inner in;
    int f(int p1, int p2, int p3) const;
};
int s::f(int p1, int p2, int p3) const {
    int t = a + 1;
    if (p1 > p2) return in.g(p3);
    else return p2 - t;
}
