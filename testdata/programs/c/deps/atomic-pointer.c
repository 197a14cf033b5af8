// Atomic operations on pointers: moved, exchanged, compared.
// moved reads **p; *p
// moved opaque integer-to-pointer
// exchanged reads *p; *p->x; q; q->x
#include <stdatomic.h>
struct node { int key, x; };
int moved(_Atomic(char *) *p) {
  atomic_fetch_add(p, 16);
  return **p;
}
int exchanged(_Atomic(struct node *) *p, struct node *q) {
  struct node *old = atomic_exchange(p, q);
  return old->x + (*p)->x;
}
