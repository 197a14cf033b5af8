// An atomic exchange reads and writes.
// f reads *p; x
// f writes *p
int f(_Atomic int *p, int x) { return __c11_atomic_fetch_add(p, x, __ATOMIC_SEQ_CST); }
