// Functions that must be inlined, and that libstdc++ has nowhere else, were missing in programs that are linked without optimisation: with -O0, or
// with no level at all, and with UNSEEN_LINK_LEVEL=0.
//
// RUN: unseen-clang++ %s -o prog && ./prog | FileCheck %s
// RUN: unseen-clang++ -std=c++20 -O0 -g %s -o prog && ./prog | FileCheck %s
// RUN: unseen-clang++ -std=c++20 -O0 --unseen=state,cover %s -o prog && ./prog | FileCheck %s
// RUN: UNSEEN_LINK_LEVEL=0 unseen-clang++ -std=c++20 -O2 --unseen=access %s -o prog && ./prog | FileCheck %s
// RUN: UNSEEN_LINK_LEVEL=0 unseen-clang++ -std=c++17 -O2 --unseen=state,cover %s -o prog && ./prog | FileCheck %s
// RUN: unseen-clang++ -O0 %s -o prog && unseen run ./prog && unseen report --lines %s | FileCheck --check-prefix=MISSED %s
// CHECK: 5 text!
// MISSED: 6 of 7 lines covered
// MISSED: 0 {{.*}} return 1;

#include <cstdio>
#include <string>

int main(int argc, char **argv) {
  const char text[] = "text";
  std::string copy(text, text + 4);
  copy += '!';
  if (copy.size() != 5)
    return 1;
  std::printf("%zu %s\n", copy.size(), copy.c_str());
}
