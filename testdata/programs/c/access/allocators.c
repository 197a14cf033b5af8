/* Memory from allocators that are called through pointers, and from the C library: functions that scan it read far. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct memory {
  void *(*get)(size_t);
  void *(*change)(void *, size_t);
  void (*give_back)(void *);
};

static struct memory memory = {malloc, realloc, free};

long scan(const char *text) {
  long sum = 0;
  for (; *text; text++)
    sum += *text;
  return sum;
}

static char *fill(char *text, size_t size) {
  memset(text, 'a', size - 1);
  text[size - 1] = 0;
  return text;
}

int main(void) {
  char *small = fill(memory.get(2000), 2000);
  long sum = scan(small);
  char *large = fill(memory.change(small, 100000), 100000);
  sum += scan(large);
  memory.give_back(large);
  large = fill(memory.get(200000), 200000);
  sum += scan(large);
  memory.give_back(large);

  char *line = NULL, *text = fill(malloc(90000), 90000);
  size_t size = 0;
  FILE *file = fmemopen(text, 89999, "r");
  if (!file || getline(&line, &size, file) != 89999)
    return 1;
  sum += scan(line);
  printf("%ld\n", sum);
  return 0;
}
