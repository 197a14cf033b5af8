// Parameters whose types have no name of their own were shown without any: `same( *c)`.
// RUN: unseen-clang -g -O1 --unseen=state %s -o program
// RUN: unseen deps program | FileCheck %s

typedef struct {
  char *buf;
  int len;
} conn;
typedef enum { LOW, HIGH } level;
// CHECK-DAG: with_typedef(conn *c, level l)
int with_typedef(const conn *c, level l) { return c->len + l; }
// CHECK-DAG: without_any(struct *p)
struct { int x; } one;
int without_any(__typeof__(one) *p) { return p->x; }
// CHECK-DAG: calls(... *f)
int calls(int (*f)(void)) { return f(); }
int zero(void) { return 0; }
int main(void) {
  conn c = {0, 0};
  one.x = 0;
  return with_typedef(&c, LOW) + without_any(&one) + calls(zero);
}
