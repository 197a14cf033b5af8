// Places behind places.
// f reads a->b; a->b->c; a->b->c->x
struct c { int w, x; };
struct b { int v; struct c *c; };
struct a { struct b *b; };
int f(struct a *a) { return a->b->c->x; }
