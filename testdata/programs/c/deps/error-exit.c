// A message on the way out: the state decides whether the call returns, and nothing else does if it returns.
// f reads p; *p; stderr[0..8]
// f writes (output)
// f ends exit
// fail reads message; stderr[0..8]
// fail writes (output)
// fail opaque exit
// in reads n
// in ends exit; input
#include <stdio.h>
#include <stdlib.h>
static void fail(const char *message) {
    fputs(message, stderr);
    exit(1);
}
int f(int *p) {
    if (!p) fail("null");
    return *p;
}
int in(int n) {
    if (n) exit(getchar());
    return n;
}
