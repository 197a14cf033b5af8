// A function that was loaded is none of the program's: what calls it reads what nobody sees. `call` had the set of `mine`, and was called exact.
//
// RUN: unseen-clang -g -O2 --unseen=access %s -o prog
// RUN: unseen deps prog call through | FileCheck %s
// RUN: unseen-clang -g -O0 --unseen=access %s -o prog
// RUN: unseen deps prog call through | FileCheck %s
// RUN: unseen-clang++ -x c++ -g -O2 --unseen=access %s -o prog
// RUN: unseen deps prog call through | FileCheck %s
// CHECK: {{^}}call({{.*}} opaque
// CHECK: call through a pointer to an unknown function
// CHECK: {{^}}through({{.*}} opaque
// CHECK: call through a pointer to an unknown function

#define _GNU_SOURCE
#include <dlfcn.h>

static int g;
static int mine(int x) { return g + x; }
static int (*hook)(int);
union either {
  int (*function)(int);
  long number;
} either;

#ifdef __cplusplus
namespace scope {
struct list {
  list *next;
  int (*function)(int);
} head;
} // namespace scope
__attribute__((noinline)) void insert(scope::list *one) { scope::head.next = one; }
#endif

__attribute__((noinline)) int call(int x) { return hook(x); }
__attribute__((noinline)) int through(int x) { return either.function(x); }

int main(int argc, char **argv) {
  hook = argc > 1 ? mine : (int (*)(int))dlsym(RTLD_DEFAULT, "abs");
  either.function = hook;
  return call(3) + through(3) != 6;
}
