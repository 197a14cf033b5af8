// Chains that are too deep end in everything reachable.
// f reads everything reachable from a->n->n->n->n->n->n; a->n; a->n->n; a->n->n->n; a->n->n->n->n; a->n->n->n->n->n; a->n->n->n->n->n->n
struct a { struct a *n; int x; };
int f(struct a *a) { return a->n->n->n->n->n->n->n->x; }
