// An element that is known.
// f reads tab[3]
int tab[10];
int f(void) { return tab[3]; }
