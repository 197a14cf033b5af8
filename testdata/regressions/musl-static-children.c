// In a program that is linked statically with musl, children counted into the file of their parent: nothing took pthread_atfork
// out of the library.
// RUN: musl=/usr/lib/x86_64-linux-musl; unseen-clang -O1 -static -nostdinc -isystem /usr/include/x86_64-linux-musl -nostdlib -L$musl $musl/crt1.o $musl/crti.o %s -lc $musl/crtn.o -o program
// RUN: unseen run ./program
// RUN: unseen report | FileCheck %s

// CHECK: 2 processes in 1 run.
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
  if (!fork())
    _exit(0);
  wait(0);
  return 0;
}
