// Sets of another version, or damaged ones, were told to have been stripped.
//
// RUN: unseen-clang --unseen=access %s -o prog
// RUN: objcopy --dump-section .unseen.deps=sets prog
// RUN: printf '\377' | dd of=sets bs=1 seek=8 conv=notrunc status=none && objcopy --update-section .unseen.deps=sets prog
// RUN: unseen verify -- ./prog 2>said || test $? = 3 && FileCheck %s <said
// CHECK: of version {{.*}}, this build of Unseen reads up to
// CHECK: use the version of Unseen that built it
int main(void) { return 0; }
