// What is printed is read. Output whose result nobody looks at decides nothing; else it is a reason.
// f reads s; s[0..'\0']; x
// f writes (output)
// g reads x
// g opaque output
// h reads x
// h writes (output)
#include <stdio.h>
void f(int x, const char *s) { printf("%d %s", x, s); }
int g(int x) { return printf("%d", x) < 0; }
int h(int x) {
    f(x, "x");
    return x + 1;
}
