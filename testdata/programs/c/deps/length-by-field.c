// As many bytes as a field says.
// f reads c->buf; c->buf[0..c->len]; c->len; x[0..c->len]
#include <string.h>
struct conn { char *buf; unsigned long len; };
int f(struct conn *c, const char *x) { return memcmp(c->buf, x, c->len); }
