// A static variable that is made when it is first needed.
// f reads count; guard variable for f()::n[0..1]; n
// f writes guard variable for f()::n[0..8]; n
int count;
int f() {
    static int n = count;
    return n;
}
