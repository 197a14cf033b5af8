// Two names may be one place: what is stored through one may be found through the other.
// f reads **q; *q; *r; r
// f writes *p
int f(int **p, int **q, int *r) {
    *p = r;
    return **q;
}
