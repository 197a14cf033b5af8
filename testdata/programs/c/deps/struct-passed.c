// What is passed by value on the stack is copied whole.
// f reads p->a
struct s { long a[8]; };
__attribute__((noinline)) static long second(struct s s) { s.a[3] = 1; return s.a[2] + s.a[3]; }
long f(struct s *p) { return second(*p); }
