// The struct around a member.
// f reads m[-8..-4]
struct node { int key, x; struct node *next; };
int f(struct node **m) { return ((struct node *)((char *)m - __builtin_offsetof(struct node, next)))->key; }
