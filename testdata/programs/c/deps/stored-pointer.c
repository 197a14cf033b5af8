// A pointer that was stored is followed to what was stored.
// f reads g
// f writes s->p
int g;
struct s { int *p; };
int f(struct s *s) {
    s->p = &g;
    return *s->p;
}
