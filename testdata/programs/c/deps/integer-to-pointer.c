// A pointer made of a number.
// f reads n
// f opaque integer-to-pointer
int f(int n) { return *(int *)(unsigned long)(unsigned)(n + 4096); }
