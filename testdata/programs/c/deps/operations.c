// A table of functions behind a pointer.
// f reads o->read; s->at
// f writes s->at
struct state { int at; };
struct ops { void (*close)(void); int (*read)(struct state *); };
static int next(struct state *s) { return s->at++; }
struct ops ops = {0, next};
int f(struct ops *o, struct state *s) { return o->read(s); }
int main(void) { return 0; }
