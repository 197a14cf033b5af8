// `unseen manifest` said of what we had linked from native objects alone that it was not built with Unseen, and listed nothing.
// RUN: clang-22 -c %s -o native.o
// RUN: unseen-clang native.o -o program
// RUN: unseen manifest program | FileCheck %s
// RUN: unseen manifest --format json program | grep -q '"scope":"nothing"'

// CHECK: native code (no bitcode) {{.*}}native.o {{.*}}main
// CHECK: linked without bitcode:
// CHECK-NEXT: native.o
// CHECK: 0 of {{[0-9]+}} functions instrumented (0.0 %); no mechanism; nothing came as bitcode
int main(void) { return 0; }
