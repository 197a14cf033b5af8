// A number that is stored where a pointer is loaded is that pointer.
// tagged reads *u; *u[4..8]; c
// tagged opaque integer-to-pointer
// handle reads v[4..8]
struct node { int key, x; };
union word { struct node *p; unsigned long n; };
int tagged(union word *u, int c) {
  if (c) u->n = u->n * 8 + 1;
  return u->p->x;
}
int handle(unsigned long v) {
  union word u;
  u.n = v;
  return u.p->x;
}
