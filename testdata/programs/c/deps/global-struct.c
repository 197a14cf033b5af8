// Fields of global structs, nested.
// f reads s.in.b; s.x
struct { int x; struct { int a, b; } in; } s;
int f(void) { return s.x + s.in.b; }
