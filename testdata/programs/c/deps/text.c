// A text ends with a zero byte.
// f reads s[0..'\0']
#include <string.h>
int f(const char *s) { return (int)strlen(s); }
