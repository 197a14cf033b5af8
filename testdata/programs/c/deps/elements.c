// Elements of an array of structs behind a pointer.
// f reads i; p[*].y
struct s { int x, y; };
int f(struct s *p, int i) { return p[i].y; }
