// A swap that knows nothing of types, through a variable and a call.
// f reads *a; *a->x; a[*]; a[*][4..8]; b[*]; b[*][4..8]
struct node { int key, x; };
static void swap(char *a, char *b) {
  for (int i = 0; i < 8; i++) {
    char t = a[i];
    a[i] = b[i];
    b[i] = t;
  }
}
int f(struct node **a, struct node **b) {
  swap((char *)a, (char *)b);
  return (*a)->x;
}
