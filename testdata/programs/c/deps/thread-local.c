// Each thread's own.
// f reads t
_Thread_local int t;
int f(void) { return t; }
