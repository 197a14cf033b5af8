// What is called may jump back: what it does on ways that do not return then counts.
// f reads *p; c; env
// g reads c; env
// h reads c; env
// h opaque time
// t reads c; env
// t ends time
#include <setjmp.h>
#include <time.h>
static jmp_buf env;
static void g(int c, int *p) {
    *p = 1;
    if (c) longjmp(env, 1);
}
int f(int c, int *p) {
    if (setjmp(env)) return *p;
    g(c, p);
    return 0;
}
static void t(int c) {
    if (c) longjmp(env, (int)time(0));
}
int h(int c) {
    int again = setjmp(env);
    if (again) return again;
    t(c);
    return 0;
}
