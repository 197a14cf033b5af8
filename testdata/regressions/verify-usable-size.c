// An object ended for `unseen verify` where the program had asked for it to end, though the allocator gave more and told so: reads
// of the rest were misses. sqlite3 fills what `malloc_usable_size` says.
// RUN: unseen-clang -g -O1 --unseen=access %s -o program
// RUN: unseen verify --effort 100 -- ./program 2>&1 | FileCheck %s
// CHECK: of 3 called units 2 checked
// CHECK: 0 misses

#include <malloc.h>
#include <stdlib.h>

typedef struct {
  unsigned char *text;
  size_t size;
} text;

__attribute__((noinline)) text make(size_t size) {
  text made = {malloc(size), 0};
  if (made.text)
    made.size = malloc_usable_size(made.text);
  for (size_t i = 0; i < made.size; i++)
    made.text[i] = (unsigned char)i;
  return made;
}

__attribute__((noinline)) unsigned sum(const unsigned char *text, const size_t *size) {
  unsigned all = 0;
  for (size_t i = 0; i < *size; i++)
    all += text[i];
  return all;
}

int main(void) {
  text made = make(137);
  return sum(made.text, &made.size) == 0;
}
