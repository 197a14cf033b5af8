// A loop may not be entered.
// f reads *p; n
// f writes *p
int f(int *p, int n) {
    for (int i = 0; i < n; i++) *p = i;
    return *p;
}
