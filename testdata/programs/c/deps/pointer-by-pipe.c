// A pointer that comes in through a file is a number.
// f reads fd
// f opaque input; integer-to-pointer
// scanned reads s[0..'\0']
// scanned opaque integer-to-pointer
#include <stdio.h>
#include <unistd.h>
struct node { int key, x; };
int f(int fd) {
  struct node *p;
  read(fd, &p, sizeof p);
  return p->x;
}
int scanned(const char *s) {
  struct node *p;
  sscanf(s, "%p", (void **)&p);
  return p->x;
}
