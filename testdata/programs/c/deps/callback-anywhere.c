// Where a pointer comes from a union, or from memory that may be anything, any function that fits may be called.
// by_union reads *u; a; b
// by_element reads *table; a; b
// by_number reads a; b; n
int a, b;
union value { int (*call)(void); void *data; };
static int one(void) { return a; }
static int two(void) { return b; }
int by_union(union value *u) { return u->call(); }
int by_element(int (**table)(void)) { return table[0](); }
int by_number(unsigned long n) { return ((int (*)(void))n)(); }
int main(void) {
  union value u = {one};
  int (*table[1])(void) = {two};
  return by_union(&u) + by_element(table) + by_number((unsigned long)one);
}
