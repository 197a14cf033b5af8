// Others may change what is volatile, unless it is on the stack; of what is stored there, nothing comes back.
// f reads *p
// f opaque volatile
// stored reads v
// stored writes *p
// on_the_stack reads v
int f(volatile int *p) { return *p; }
void stored(volatile int *p, int v) { *p = v; }
int on_the_stack(int v) {
  volatile int local = v;
  return local + 1;
}
