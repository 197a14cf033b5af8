// The locale's tables are no state.
// f reads c
#include <ctype.h>
int f(int c) { return isalpha(c) ? toupper(c) : c; }
