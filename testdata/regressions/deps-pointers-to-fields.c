// A pointer to a field can be had without naming the field: one to the struct is one to its first member, and tables hold offsets of members.
// The sets of those who call the field lacked what was put there so.
//
// RUN: unseen-clang -g -O2 --unseen=access %s -o prog
// RUN: unseen deps prog first second member | FileCheck %s
// RUN: unseen verify -- ./prog
// CHECK: {{^}}first 
// CHECK: reads v
// CHECK: reads w
// CHECK: {{^}}member(
// CHECK: reads v
// CHECK: reads w
// CHECK: {{^}}second 
// CHECK: reads v
// CHECK: reads w
#include <stddef.h>

typedef int (*function)(void);
int v = 2, w = 3;
static int fv(void) { return v; }
static int fw(void) { return w; }

struct A {
  function get;
  int n;
} a, other;
__attribute__((noinline)) void set_first(void *p) { *(function *)p = fv; }
__attribute__((noinline)) int first(void) { return a.get(); }

struct B {
  int n;
  function get;
} b, another;
static const size_t where[] = {offsetof(struct B, get)};
__attribute__((noinline)) void set_second(int i) { *(function *)((char *)&b + where[i]) = fv; }
__attribute__((noinline)) int second(void) { return b.get(); }

// A struct in a union is stored as a part of the union, and loaded as the struct.
struct S {
  function get;
  long n;
};
union U {
  struct S s;
  long numbers[2];
} m;
__attribute__((noinline)) void set_member(function f) { m.s.get = f; }
__attribute__((noinline)) int member(struct S *s) { return s->get(); }

int main(int argc, char **argv) {
  other.get = another.get = fw;
  set_first(&a);
  set_second(0);
  set_member(argc > 5 ? fw : fv);
  return first() + second() + member(&m.s) != 6;
}
