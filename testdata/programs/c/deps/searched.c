// A binary search: the key and the elements are read by what compares them, and the result is one of the elements.
// f reads a; a[*]; key[*]; n
#include <stdlib.h>
struct entry { int key, value; };
static int compare(const void *a, const void *b) {
    return *(const int *)a - ((const struct entry *)b)->key;
}
int f(const int *key, struct entry *a, unsigned long n) {
    struct entry *found = bsearch(key, a, n, sizeof *a, compare);
    return found ? found->value : 0;
}
