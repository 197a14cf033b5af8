// References are pointers.
// f reads *r
// f writes *r
int f(int &r) { return r++; }
