#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <unseen.h>

/* So much memory that forks leave most of it out. One test needs no more than the item; the other allocates, and gets a block that lies
   far from it. */
struct item { long pad; int value; };

int value_of(const struct item *item) { return item->value; }
static int is_small(const struct item *item) { return value_of(item) < 10; }
UNSEEN_TEST(value_of, is_small)
static int is_copied(const struct item *item) {
  int *volatile copy = malloc(100);
  *copy = value_of(item);
  int same = *copy == item->value;
  free(copy);
  return same;
}
UNSEEN_TEST(value_of, is_copied)

enum { COUNT = 500000 };
static struct item *all[COUNT];

int main(void) {
  for (int i = 0; i < COUNT; i++) { all[i] = malloc(100); all[i]->value = 1; }
  struct item *item = all[COUNT / 2];
  free(all[COUNT / 4]);
  int total = 0;
  int values[] = {1, 1, 2, 3, 30};
  for (int i = 0; i < 5; i++) {
    item->value = values[i];
    total += value_of(item);
    /* What a test has taught counts when it is over. */
    usleep(300000);
  }
  printf("%d\n", total);
}
