// Code that is not seen finds functions in memory that it is given, and calls them with what it likes. `run` was taken to be called by those
// alone who are seen, with `other`; what `user` reads was missing in its set.
//
// RUN: cc -DOUTSIDE -c %s -o outside.o
// RUN: unseen-clang -g -O2 --unseen=access %s outside.o -o prog
// RUN: unseen deps prog run | FileCheck --check-prefix=SET %s
// RUN: unseen verify -- ./prog
// RUN: unseen-clang -g -O2 --unseen=access -DON_HEAP %s outside.o -o prog && unseen verify -- ./prog
// RUN: unseen-clang -g -O2 --unseen=access -DPUT %s outside.o -o prog && unseen verify -- ./prog
// SET: run
// SET: reads g
// SET: reads h

struct ops {
  int (*run)(int (*callback)(int), int);
  int (*callback)(int);
};

#ifdef OUTSIDE
int use(const struct ops *ops, int (*callback)(int)) { return ops->run(callback, 3); }
void put(struct ops *ops, int (*callback)(int)) { ops->callback = callback; }
#else
#include <stdlib.h>

int use(const struct ops *ops, int (*callback)(int));
void put(struct ops *ops, int (*callback)(int));
int g = 5, h = 6;
static int user(int x) { return g + x; }
static int other(int x) { return h + x; }
__attribute__((noinline)) static int run(int (*callback)(int), int x) { return callback(x); }
__attribute__((noinline)) static int call(const struct ops *ops, int x) { return ops->callback(x); }

int main(int argc, char **argv) {
  static const struct ops constant = {run, other};
  struct ops *ops = malloc(sizeof *ops);
  *ops = constant;
#ifdef PUT
  put(ops, user);
  return call(ops, 1) + call(&constant, 1) != 13;
#elif defined ON_HEAP
  return use(ops, user) + run(other, 1) != 15;
#else
  return use(&constant, user) + run(other, 1) != 15;
#endif
}
#endif
