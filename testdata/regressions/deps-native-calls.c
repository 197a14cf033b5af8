// A native object of the program calls its functions by their names, with functions that it knows by name too. `run` was taken to be called by
// those alone who are seen, with `user`: what `other` reads was missing in its set, which was called exact. What native code puts into memory
// is not seen either, so nobody knows all that a pointer may call there.
//
// RUN: cc -DNATIVE -c %s -o native.o
// RUN: unseen-clang -g -O2 --unseen=access %s native.o -o prog
// RUN: unseen deps prog run call | FileCheck %s
// RUN: unseen verify -- ./prog
// RUN: unseen-clang -g -O0 --unseen=access %s native.o -o prog && unseen verify -- ./prog
// CHECK: {{^}}call({{.*}} opaque
// CHECK: call through a pointer to an unknown function
// CHECK: {{^}}run({{.*}} opaque
// CHECK: call through a pointer to an unknown function

struct ops {
  int (*callback)(int);
};
extern struct ops registered;
int other(int x);
int run(struct ops *ops, int x);
int go(void);

#ifdef NATIVE
static int k = 1;
static int mine(int x) { return x + k++; }
int go(void) {
  struct ops ops = {other};
  registered.callback = mine;
  return run(&ops, 3);
}
#else
#include <stdlib.h>

struct ops registered;
int g = 5, h = 6;
static int user(int x) { return g + x; }
int other(int x) { return h + x; }
__attribute__((noinline)) int run(struct ops *ops, int x) { return ops->callback(x); }
__attribute__((noinline)) int call(int x) { return registered.callback(x); }

int main(int argc, char **argv) {
  struct ops *ops = malloc(sizeof *ops);
  ops->callback = user;
  registered = *ops;
  return run(ops, 1) + call(1) + go() + call(1) != 6 + 6 + 9 + 2;
}
#endif
