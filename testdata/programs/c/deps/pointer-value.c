// A pointer that is compared counts by itself; one that is only followed is implied by what is read behind it.
// f reads *q; p
int f(int *p, int *q) { return p ? *q : 0; }
