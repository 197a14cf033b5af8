#include <stdio.h>
#include <stdlib.h>
#include <unseen.h>

/* Two units that meet one state for each number on the command line, or else on standard input: a small one, and one that is hashed. */
int half(int n) { return n / 2; }
static int half_is_not_more(int n) { return half(n) <= n; }
UNSEEN_TEST(half, half_is_not_more)

struct node { struct node *next; int value; };
int sum(struct node *n) { int s = 0; for (; n; n = n->next) s += n->value; return s; }
static int sum_is_positive(struct node *n) { return sum(n) > 0; }
UNSEEN_TEST(sum, sum_is_positive)

static void step(int n) {
  struct node last = {0, n}, first = {&last, 1};
  printf("%d %d\n", half(n), sum(&first));
  fflush(stdout);
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) step(atoi(argv[i]));
  for (int n; argc == 1 && scanf("%d", &n) == 1;) step(n);
}
