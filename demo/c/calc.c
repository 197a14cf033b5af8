// Evaluates an arithmetic expression: calc '1 + 2 * (3 - 4)'.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

static const char *at;

static void fail(const char *why) {
    fprintf(stderr, "calc: %s near '%s'\n", why, at);
    exit(1);
}

static char next(void) {
    while (isspace((unsigned char)*at))
        at++;
    return *at;
}

static long sum(void);

static long factor(void) {
    if (next() == '(') {
        at++;
        long value = sum();
        if (next() != ')')
            fail("missing )");
        at++;
        return value;
    }
    if (next() == '-') {
        at++;
        return -factor();
    }
    if (!isdigit((unsigned char)next()))
        fail("expected a number");
    char *end;
    long value = strtol(at, &end, 10);
    at = end;
    return value;
}

static long product(void) {
    long value = factor();
    for (;;) {
        switch (next()) {
        case '*':
            at++;
            value *= factor();
            break;
        case '/': {
            at++;
            long divisor = factor();
            if (divisor == 0)
                fail("division by zero");
            value /= divisor;
            break;
        }
        default:
            return value;
        }
    }
}

static long sum(void) {
    long value = product();
    while (next() == '+' || next() == '-') {
        if (*at++ == '+')
            value += product();
        else
            value -= product();
    }
    return value;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: calc EXPRESSION\n");
        return 2;
    }
    at = argv[1];
    long value = sum();
    if (next() != '\0')
        fail("unexpected text");
    printf("%ld\n", value);
    return 0;
}
