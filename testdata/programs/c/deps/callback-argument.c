// A parameter that is called is what callers pass, through other functions, results, variables and unnamed arguments.
// call reads a; b; f
// configured reads c; config
#include <stdarg.h>
int a, b, c, unrelated;
static int one(void) { return a; }
static int two(void) { return b; }
static int three(void) { return c; }
static int somewhere(void) { return unrelated; }
int (*table[2])(void) = {somewhere};
static int (*config)(void);
int call(int (*f)(void)) { return f(); }
static int twice(int (*g)(void)) { return call(g) + call(g); }
static int (*choose(int n))(void) {
  int (*chosen)(void) = one;
  if (n) chosen = two;
  return chosen;
}
void configure(int option, ...) {
  va_list list;
  va_start(list, option);
  if (option) config = va_arg(list, int (*)(void));
  va_end(list);
}
int configured(void) { return config(); }
int main(int n, char **v) {
  configure(1, three);
  return twice(one) + call(choose(n)) + configured();
}
