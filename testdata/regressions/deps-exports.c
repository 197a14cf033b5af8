// Build systems link programs with -rdynamic that load nothing: nobody can call their functions by name. Where something is loaded, it may.
//
// RUN: unseen-clang -g -O2 -rdynamic --unseen=access %s -o prog && unseen verify -- ./prog
// RUN: unseen deps prog call | FileCheck --check-prefix=ALONE %s
// RUN: unseen-clang -g -O2 -rdynamic -DLOADS --unseen=access %s -o prog && unseen verify -- ./prog
// RUN: unseen deps prog call | FileCheck --check-prefix=LOADS %s
// ALONE: {{^}}call({{.*}} exact
// ALONE: reads v
// LOADS: {{^}}call({{.*}} opaque
// LOADS: call through a pointer to an unknown function
#include <dlfcn.h>

struct ops {
  int n;
  int (*get)(int);
} ops;
int v = 2, u = 3;
static int get(int x) { return x + v; }
int unrelated(int x) { return x + u; }
int (*volatile pick)(int) = unrelated;
__attribute__((noinline)) int call(struct ops *o, int x) { return o->get(x); }

int main(int argc, char **argv) {
#ifdef LOADS
  if (!dlopen(0, RTLD_NOW))
    return 1;
#endif
  ops.get = get;
  return call(&ops, pick(1)) != 6;
}
