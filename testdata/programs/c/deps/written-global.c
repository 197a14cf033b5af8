// The same for globals.
// f reads h
// f writes g
int g, h;
int f(void) {
    g = 3;
    return g + h;
}
