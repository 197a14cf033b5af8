// A list is followed again and again.
// f reads n; n(->next)*->next; n(->next)*->val
struct node { int val; struct node *next; };
int f(struct node *n) {
    int s = 0;
    for (; n; n = n->next) s += n->val;
    return s;
}
