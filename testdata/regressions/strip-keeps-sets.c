// unseen-strip took the dependency sets and the table of watched instructions: their sections were not in its list.
// RUN: unseen-clang -g -O1 --unseen=state,access,cover %s -o program
// RUN: for strip in unseen-strip "unseen-strip -g" strip; do cp program a; $strip a; unseen deps a look | FileCheck %s; done
// RUN: for strip in unseen-strip "unseen-strip -g" strip; do cp program a; $strip a; unseen verify -o found -- ./a; FileCheck --check-prefix=FOUND %s <found; done

// CHECK: look(int *p)
// CHECK-NEXT: reads {{.*}}*p
// FOUND: of 2 called units 2 checked
static int number = 1;
__attribute__((noinline)) int look(int *p) { return *p; }
int main(void) { return look(&number) - 1; }
