// Unnamed arguments that a callee reads are the caller's arguments.
// f reads x; y
#include <stdarg.h>
static int sum(int n, ...) {
    va_list list;
    va_start(list, n);
    int s = 0;
    while (n--) s += va_arg(list, int);
    va_end(list);
    return s;
}
int f(int x, int y) { return sum(2, x, y); }
