#include <stddef.h>

int squares_square(int x) { return x * x; }

int squares_sum(const int *values, size_t count) {
    int sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (values[i] < 0)
            return -1;
        sum += squares_square(values[i]);
    }
    return sum;
}
