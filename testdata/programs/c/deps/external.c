// A function without code and without a model.
// f reads x
// f opaque external
int mystery(int);
int f(int x) { return mystery(x); }
