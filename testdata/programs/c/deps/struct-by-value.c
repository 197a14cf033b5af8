// A large struct passed by value.
// f reads s.a[2]
struct s { long a[8]; };
long f(struct s s) { return s.a[2]; }
