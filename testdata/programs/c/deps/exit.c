// What happens behind the end of the program does not count.
// f reads p
#include <stdlib.h>
int g;
int f(int *p) {
    if (!p) {
        abort();
        return g;
    }
    return 1;
}
