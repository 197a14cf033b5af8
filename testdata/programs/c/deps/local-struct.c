// A struct on the stack that is filled and read by callees is the caller's own.
// f reads x; y
// f writes
struct s { int x, y; };
static void fill(struct s *s, int x, int y) { s->x = x; s->y = y; }
static int sum(const struct s *s) { return s->x + s->y; }
int f(int x, int y) {
    struct s s;
    fill(&s, x, y);
    return sum(&s);
}
