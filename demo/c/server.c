// For `unseen deps` and `unseen verify` in the README: says of each argument whether it is the word.
#include <stdio.h>
#include <string.h>

typedef struct {
    char *buf;
    unsigned long len;
} conn;

static struct {
    unsigned long max;
} limits = {64};

static int same(conn *c, char *x) {
    return memcmp(c->buf, x, c->len) == 0;
}

static int handle(conn *c, char *x) {
    unsigned long length = strlen(x);
    return length <= limits.max && length == c->len && same(c, x);
}

int main(int argc, char **argv) {
    conn c = {"unseen", 6};
    for (int i = 1; i < argc; i++)
        printf("%s %d\n", argv[i], handle(&c, argv[i]));
    return 0;
}
