// The linker takes structs that have the same parts for one, under one of their names: what was known of `a.get` by the name of its struct in
// the module was put down to `b.get`. The sets of `call` and `copied` had `w` alone, and were called exact.
//
// RUN: unseen-clang -g -O2 --unseen=access %s -o prog
// RUN: unseen deps prog call copied | FileCheck %s
// RUN: unseen verify -- ./prog
// CHECK: {{^}}call 
// CHECK: reads v
// CHECK: reads w
// CHECK: {{^}}copied(
// CHECK: reads v
// CHECK: reads w

typedef int (*function)(void);
int u = 1, v = 2, w = 3;
static int fu(void) { return u; }
static int fv(void) { return v; }
static int fw(void) { return w; }

struct A {
  int n;
  function get;
} a;
struct B {
  int n;
  function get;
} b;
__attribute__((noinline)) void set_b(void) { b.get = fu; }
__attribute__((noinline)) void set(function *p) { *p = fv; }
__attribute__((noinline)) int call(void) { return a.get(); }

struct D {
  function get, put;
} d;
struct C {
  function get, put;
} c;
static const struct C initial = {fv, fv};
__attribute__((noinline)) void set_d(void) { d.get = fu; }
__attribute__((noinline)) int copied(int n) {
  struct C *p = &c;
  *p = initial;
  if (n > 9)
    c.get = fw;
  return p->get();
}

int main(int argc, char **argv) {
  set_b();
  set_d();
  a.get = fw;
  set(&a.get);
  return call() + copied(argc) != 4;
}
