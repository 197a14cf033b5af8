// Functions that call each other.
// even reads n; n(->next)*->next
struct node { int val; struct node *next; };
int odd(struct node *n);
int even(struct node *n) { return n ? odd(n->next) : 1; }
int odd(struct node *n) { return n ? even(n->next) : 0; }
