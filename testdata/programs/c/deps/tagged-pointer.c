// A pointer with bits in it is still near what it pointed to.
// f reads p; p[*]
int f(int *p) { return *(int *)((unsigned long)p & ~3ul); }
