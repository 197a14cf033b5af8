// A pointer that is kept as a number.
// f reads s->h; s->h[4..8]
// kept reads p; p->x
struct node { int key, x; };
struct keeper { unsigned long h; };
static void keep(struct keeper *s, struct node *p) { s->h = (unsigned long)p; }
int f(struct keeper *s) { return ((struct node *)s->h)->x; }
int kept(struct keeper *s, struct node *p) {
  keep(s, p);
  return ((struct node *)s->h)->x;
}
