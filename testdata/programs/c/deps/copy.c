// What is copied to the stack is read where it came from; pointers in the copy are what they were.
// f reads *s; s->p->x
struct t { int x; };
struct s { struct t *p; long pad[7]; };
int f(const struct s *s) {
    struct s copy = *s;
    return copy.p->x;
}
