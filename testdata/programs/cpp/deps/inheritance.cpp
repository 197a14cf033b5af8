// Fields of a base class.
// f reads d->x; d->y
struct base { int x; };
struct derived : base { int y; };
int f(const derived *d) { return d->x + d->y; }
