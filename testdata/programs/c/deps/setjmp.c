// setjmp.
// f opaque setjmp
#include <setjmp.h>
jmp_buf env;
int f(void) { return setjmp(env); }
