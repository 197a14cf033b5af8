// A static variable of a function is a global.
// f reads n
// f writes n
int f(void) {
    static int n;
    return n++;
}
