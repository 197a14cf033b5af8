#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <assert.h>
#include <unseen.h>

/* A cache of two entries that breaks on its second eviction. */
static struct { int key, value; } entries[2];
static int used, evictions;

int lookup(int key) {
  for (int i = 0; i < used; i++) if (entries[i].key == key) return entries[i].value;
  int value = key * key;
  int slot = used < 2 ? used++ : evictions++ % 2;
  entries[slot].key = key;
  entries[slot].value = evictions == 2 ? 0 : value;
  return value;
}
static int lookup_agrees(int key) { lookup(key); int r = lookup(key); if (r != key * key) printf("lookup(%d) is %d\n", key, r); return r == key * key; }
UNSEEN_TEST(lookup, lookup_agrees)

struct node { struct node *next; int value; };
int sum(struct node *n) { int s = 0; for (; n; n = n->next) s += n->value; return s; }
static int sum_is_positive(struct node *n) { assert(sum(n) >= 0); return 1; }
UNSEEN_TEST_NAMED("sum", sum_is_positive)

int main(void) {
  long total = 0;
  int keys[] = {1, 2, 1, 2, 3, 1, 1, 2};
  for (int i = 0; i < 8; i++) total += lookup(keys[i]);
  for (int round = 0; round < 100; round++) {
    struct node *list = 0;
    for (int i = 0; i < 5; i++) { struct node *n = malloc(sizeof *n + round); n->next = list; n->value = round % 3; list = n; }
    total += sum(list);
  }
  printf("%ld\n", total);
}
