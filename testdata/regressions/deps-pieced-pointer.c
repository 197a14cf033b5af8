// A pointer that is stored as two halves, which are numbers, is made of numbers. The set of `load` was empty, and called exact.
//
// RUN: unseen-clang -g -O2 --unseen=access %s -o prog
// RUN: unseen deps prog load | FileCheck %s
// RUN: unseen verify -- ./prog
// CHECK: {{^}}load({{.*}} opaque
// CHECK: pointer made of a number
int x = 5;

__attribute__((noinline)) int load(unsigned low, unsigned high) {
  union {
    unsigned half[2];
    int *p;
  } u = {{low, high}};
  return *u.p;
}

int main(void) {
  unsigned long p = (unsigned long)&x;
  return load(p, p >> 32) != 5;
}
