// A volatile access.
// f reads *p
// f opaque volatile
int f(volatile int *p) { return *p; }
