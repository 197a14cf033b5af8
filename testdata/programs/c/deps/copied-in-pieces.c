// A pointer that is copied byte by byte, or in halves, is the same pointer afterwards.
// bytes reads s[*]; s[*][4..8]
// halves reads s[0..4]; s[4..8]; *s->x; s[*][4..8]
struct node { int key, x; struct node *next; };
int bytes(struct node *s) {
  struct node copy;
  char *to = (char *)&copy, *from = (char *)s;
  for (int i = 0; i < sizeof copy; i++) to[i] = from[i];
  return copy.next->x;
}
int halves(struct node **d, struct node **s) {
  ((int *)d)[0] = ((int *)s)[0];
  ((int *)d)[1] = ((int *)s)[1];
  return (*d)->x;
}
