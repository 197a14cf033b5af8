// A tree by recursion.
// f reads t; t(->l|->r)*->l; t(->l|->r)*->r; t(->l|->r)*->v
struct tree { struct tree *l, *r; int v; };
int f(struct tree *t) { return t ? f(t->l) + f(t->r) + t->v : 0; }
