// Pointers among unnamed arguments, followed in place and by another function.
// caller reads a; a->next; a->next->x; a->x; b; b->next; b->next->x; b->x
// list reads everything reachable from a; a
#include <stdarg.h>
struct node { int key, x; struct node *next; };
static int in_place(int n, ...) {
  va_list l;
  va_start(l, n);
  int r = va_arg(l, struct node *)->x;
  r += va_arg(l, struct node *)->next->x;
  va_end(l);
  return r;
}
static int sum(int n, va_list l) {
  int r = 0;
  while (n--) r += va_arg(l, struct node *)->x;
  return r;
}
static int by_another(int n, ...) {
  va_list l;
  va_start(l, n);
  int r = sum(n, l);
  va_end(l);
  return r;
}
int caller(struct node *a, struct node *b) { return in_place(2, a, b); }
int list(struct node *a) { return by_another(1, a); }
