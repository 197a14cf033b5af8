// Output is a reason, and what is printed is read.
// f reads s; s[0..'\0']; x
// f opaque output
#include <stdio.h>
void f(int x, const char *s) { printf("%d %s", x, s); }
