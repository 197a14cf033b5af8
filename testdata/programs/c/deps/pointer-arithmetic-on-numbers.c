// Pointers that are computed of several numbers point who knows where.
// linked reads n->link; prev
// linked opaque integer-to-pointer
// relative reads *r; r
// relative opaque integer-to-pointer
// packed reads *v
// packed opaque integer-to-pointer
// product reads a; b
// product opaque integer-to-pointer
struct node { unsigned long link; int v; };
int linked(struct node *prev, struct node *n) { return ((struct node *)(n->link ^ (unsigned long)prev))->v; }
int relative(long *r) { return *(int *)((long)r + *r); }
int packed(unsigned long *v) { return *(int *)(*v >> 16); }
static int follow(unsigned long p) { return *(int *)p; }
int product(long a, long b) { return follow(a * b); }
