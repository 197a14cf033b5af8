// What is moved keeps its contents.
// f reads a[*]; a[*][4..8]; a[0..]
// own reads p; p->x
#include <stdlib.h>
struct node { int key, x; };
int f(struct node **a) {
  struct node **b = realloc(a, 64);
  return b[1]->x;
}
int own(struct node *p) {
  struct node **a = malloc(8);
  a[0] = p;
  a = realloc(a, 64);
  return a[0]->x;
}
