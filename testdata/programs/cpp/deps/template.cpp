// Each instance has its own set.
// f reads *p; *q
template <class T> static T first(const T *p) { return *p; }
long f(const int *p, const long *q) { return first(p) + first(q); }
