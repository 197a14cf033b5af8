// What is certainly written first does not count.
// f reads
// f writes *p
int f(int *p) {
    *p = 1;
    return *p;
}
