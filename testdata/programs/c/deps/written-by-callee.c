// What a callee certainly writes does not count behind the call.
// f reads
// f writes s->x; s->y
struct s { int x, y; };
static void init(struct s *s) { s->x = 1; s->y = 2; }
int f(struct s *s) {
    init(s);
    return s->x + s->y;
}
