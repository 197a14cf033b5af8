// What a rescue threw ended the program where it should have been caught: the compiler knew that the unit throws nothing. Whoever
// catches it has his variables as they were.
//
// RUN: for o in 0 1 2; do unseen-clang++ -g -O$o %s -o prog && UNSEEN_POLICY=watch unseen run -- ./prog | FileCheck %s && rm -r .unseen || exit 1; done
// RUN: UNSEEN_POLICY=never unseen run -- ./prog | FileCheck --check-prefix=NEVER %s
// CHECK: 3548
// NEVER: 471

#include "unseen.h"
#include <cstdio>
#include <stdexcept>

static long handle(long a, long b) { return a * 31 + b; }
static void refuse(long a, long) {
  if (a > 2)
    throw std::runtime_error("no");
}
UNSEEN_RESCUE(handle, refuse)

// Throws nothing either, until a rescue does.
static long twice_removed(long a, long b) { return handle(a, b); }

int main(int argc, char **) {
  long s = 0, x = argc, y = argc + 1, z = argc + 2, w = argc + 3, v = argc + 4;
  for (long i = 0; i < 6; i++) {
    try {
      s += twice_removed(i, argc);
    } catch (std::exception &) {
      s += 1000 + x + y * 2 + z * 3 + w * 4 + v * 5;
    }
    x += i, y ^= i, z += 3, w -= i, v += x;
  }
  std::printf("%ld\n", s);
}
