// Bitcode that the linker found and we did not know of (in directories that only it was told of, or named by scripts) was linked
// without the pass, and nobody was told.
// RUN: mkdir lib; unseen-clang -DOTHER -c %s -o lib/other.o; unseen-ar rcs lib/libother.a lib/other.o; clang-22 -c %s -o main.o
// RUN: echo 'INPUT(lib/other.o)' >lib/script.ld; echo 'GROUP(libother.a)' >lib/libbyscript.so
// RUN: for how in "-Wl,-Llib -lother" "-Xlinker -Llib -lother" "-L=$PWD/lib -lother" lib/script.ld "-T lib/script.ld" "-Llib -lbyscript" "-Wl,-L,lib,-lother"; do echo "$how"; unseen-clang main.o $how -o program; unseen manifest program | grep -q "cover .* other"; rm program; done
// RUN: LIBRARY_PATH=lib unseen-clang main.o -lother -o program; unseen manifest program | grep "cover .* other"
// RUN: unseen-clang -r main.o lib/script.ld -o whole.o; unseen-clang whole.o -o program; unseen manifest program | grep "cover .* other"
// The product is where the linker alone is told to put it; nothing else is removed when it is linked again.
// RUN: echo kept >a.out; unseen-clang main.o lib/script.ld -Wl,-o,program; unseen manifest program | grep "cover .* other"; grep kept a.out

// Where the linker is asked for the list of files that tells us, too, it has them, and none that is gone.
// RUN: unseen-clang main.o -Llib -lbyscript -Wl,--dependency-file=list -o program; FileCheck --input-file list %s; for f in $(sed -n 's/:$//p' list); do test -e $f; done
// CHECK: {{^}}lib/libother.a:
#ifdef OTHER
int other(void) { return 0; }
#else
int other(void);
int main(void) { return other(); }
#endif
