// Unless the source promises otherwise.
// f reads **q; *q; r
// f writes *p
int f(int **restrict p, int **q, int *r) {
    *p = r;
    return **q;
}
