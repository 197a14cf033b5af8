// What is called as a field of a struct was stored as that field: set by an initial value (with bytes between the fields),
// by name, by a copy of the struct, or through a mere pointer, which may be one to any field.
// drawn reads a; e; s->draw
// sized reads b; c; e; s->size
// cleared reads d; e; s->clear
// hooked reads e; s->hook
int a, b, c, d, e, unrelated;
struct shape { int kind; int (*draw)(void), (*size)(void), (*clear)(void); int (*hook)(void); };
static int draw(void) { return a; }
static int size(void) { return b; }
static int other_size(void) { return c; }
static int clear(void) { return d; }
static int hook(void) { return e; }
static int somewhere(void) { return unrelated; }
static const struct shape square = {1, draw, size};
int (*table[2])(void) = {somewhere};
int drawn(struct shape *s) { return s->draw(); }
int sized(struct shape *s) { return s->size(); }
int cleared(struct shape *s) { return s->clear(); }
int hooked(struct shape *s) { return s->hook(); }
static void set(int (**to)(void), int (*f)(void)) { *to = f; }
int main(void) {
  struct shape s = square, t;
  t = s;
  t.size = other_size;
  t.clear = clear;
  set(&t.hook, hook);
  return drawn(&t) + sized(&t) + cleared(&t) + hooked(&t);
}
