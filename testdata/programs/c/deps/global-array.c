// An element of a global array that is not known: all of them.
// f reads i; tab[*]
int tab[10];
int f(int i) { return tab[i]; }
