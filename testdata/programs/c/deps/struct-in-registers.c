// A small struct passed in registers, by its parts.
// f reads *s.p; s.n
struct s { int *p; long n; };
long f(struct s s) { return *s.p + s.n; }
