// A call through a pointer reads what any function may read whose address is known and whose type fits.
// f reads *p; a; get; p[1]
int a;
int get1(int *p) { return p[0]; }
int get2(int *p) { return p[1] + a; }
int unfit(int *p, int q) { return p[7] + q; }
int (*table[3])(int *) = {get1, get2};
void *other = unfit;
int f(int (*get)(int *), int *p) { return get(p); }
int main(void) { return 0; }
