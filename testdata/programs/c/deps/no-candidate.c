// A call through a pointer that no function fits.
// f reads g
// f opaque indirect-call
int f(long (*g)(double, double)) { return (int)g(1, 2); }
