// Sorting moves pointers: the first of them may be any afterwards. The order is asked for at most.
// f reads a[0..]; *a->x; a[*]; a[*][0..4]; a[*][4..8]; n
// asked reads a[0..]; a[*]; a[*][0..4]; inited; n
#include <stdlib.h>
struct node { int key, x; };
static int inited;
static int compare(const void *a, const void *b) {
  inited = 1;
  return (*(struct node **)a)->key - (*(struct node **)b)->key;
}
int f(struct node **a, int n) {
  qsort(a, n, sizeof *a, compare);
  return a[0]->x;
}
int asked(struct node **a, int n) {
  qsort(a, n, sizeof *a, compare);
  return inited;
}
