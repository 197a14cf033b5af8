// Assembly that says that it does not.
// f reads x
int f(int x) {
    int r;
    __asm__("movl %1, %0" : "=r"(r) : "r"(x));
    return r;
}
