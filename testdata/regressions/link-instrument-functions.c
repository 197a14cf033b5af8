// Calls that -finstrument-functions asks for are put in by the optimiser, before functions are inlined: a pipeline of our own has to have that pass.
//
// RUN: unseen-clang -O2 -finstrument-functions %s -o prog && ./prog | FileCheck %s
// RUN: unseen-clang -O0 -finstrument-functions %s -o prog && ./prog | FileCheck %s
// CHECK: entered 3, left 2

#include <stdio.h>

static int entered, left;

#define QUIET __attribute__((no_instrument_function))

QUIET void __cyg_profile_func_enter(void *function, void *caller) { entered++; }
QUIET void __cyg_profile_func_exit(void *function, void *caller) { left++; }

static int twice(int n) { return 2 * n; }

static int fourfold(int n) { return twice(n) + 2 * n; }

int main(int argc, char **argv) {
  if (fourfold(argc) != 4)
    return 1;
  printf("entered %d, left %d\n", entered, left);
  return 0;
}
