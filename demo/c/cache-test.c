/* Attached from outside: cache.c knows nothing of it. */
#include <stdio.h>
#include <unseen.h>

int square(int key);

static int asking_again_gives_the_same(int key) {
  int first = square(key), second = square(key);
  if (first != second) fprintf(stderr, "square(%d) is %d, then %d\n", key, first, second);
  return first == second;
}
UNSEEN_TEST(square, asking_again_gives_the_same)
