// A part that was not written counts, the other does not.
// f reads s->y
// f writes s->x
struct s { int x, y; };
int f(struct s *s) {
    s->x = 1;
    return s->x + s->y;
}
