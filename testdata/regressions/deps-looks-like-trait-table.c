// Constant structs of C that have the parts of a Rust trait object's table were taken for one, and their functions to be called as methods alone:
// `call` was said to call nobody else than `other`.
//
// RUN: unseen-clang -g -O2 --unseen=access %s -o prog
// RUN: unseen deps prog call call_second | FileCheck %s
// RUN: unseen verify -- ./prog
// CHECK: {{^}}call(
// CHECK: reads v
// CHECK: reads w
// CHECK: {{^}}call_second(
// CHECK: reads u
// CHECK: reads w

typedef int (*function)(int);
int u = 1, v = 2, w = 3;
static int fu(int x) { return x + u; }
static int fv(int x) { return x + v; }
static int other(int x) { return x + w; }

struct named {
  char name[24];
  function get;
};
struct sized {
  function get;
  char bytes[16];
  function again;
};
static const struct named names[] = {{"one", fv}}, name = {"two", fv};
static const struct sized size = {fu, "three", fu};

__attribute__((noinline)) int call(const struct named *n, int x) { return n->get(x); }
__attribute__((noinline)) int call_second(const struct sized *s, int x) { return s->again(x); }

int main(int argc, char **argv) {
  struct named n = argc > 3 ? names[0] : name;
  struct sized s = size;
  if (argc > 5) {
    n.get = other;
    s.again = other;
  }
  return call(&n, 1) + call_second(&s, 1) != 5;
}
