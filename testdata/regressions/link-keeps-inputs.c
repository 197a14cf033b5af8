// GNU ld's --gc-sections dropped our list of inputs, and with it what was declined.
// RUN: echo '.section .note.GNU-stack,"",@progbits' >empty.s
// RUN: UNSEEN_LTO=off unseen-clang -ffunction-sections -Wl,--gc-sections %s empty.s -o program
// RUN: unseen manifest program | FileCheck %s
// RUN: for linker in bfd gold lld; do UNSEEN_LTO=off unseen-clang -fuse-ld=$linker -Wl,--gc-sections %s empty.s -o a; unseen manifest a | FileCheck %s; done
// RUN: echo 'fn main() {}' >main.rs; UNSEEN_LTO=off unseen-rustc main.rs -o rust; unseen manifest rust | grep main.rs:

// CHECK: empty.s: assembly
int main(void) { return 0; }
