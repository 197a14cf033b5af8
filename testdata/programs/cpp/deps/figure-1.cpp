// The paper's Figure 1, as a member function.
// f reads this->a; p1; p2
struct s {
    int a;
    int f(int p1, int p2, int p3) const;
};
int s::f(int p1, int p2, int p3) const {
    int k = 8;
    int t = a + 1;
    if (p1 > p2) return k + t;
    else return p2 - t;
}
