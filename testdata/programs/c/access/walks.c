// What units read, in all the ways that the runtime tells apart: every call is checked, and nothing is missed.
#include <ctype.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node { struct node *next; int value; };
struct table { unsigned count; int *items; char name[8]; };
typedef int (*operation)(int, int);

static int limit = 100;
static int grid[4][4] = {{1, 2}, {3, 4}};
static const char *const words[] = {"one", "two"};
static _Thread_local int mine = 3;
static jmp_buf back;

int sum_list(const struct node *n) {
  int sum = 0;
  for (; n; n = n->next) sum += n->value;
  return sum;
}

int clip(const struct node *n) { return sum_list(n) > limit ? limit : mine; }

int sum_table(const struct table *t) {
  int sum = t->name[0];
  for (unsigned i = 0; i < t->count; i++) sum += t->items[i];
  return sum;
}

struct node *push(struct node *n, int value) {
  struct node *m = malloc(sizeof *m);
  m->next = n;
  m->value = value;
  return m;
}

int fills_first(int *out, int n) {
  memset(out, 0, n * sizeof *out);
  int sum = 0;
  for (int i = 0; i < n; i++) sum += out[i];
  return sum;
}

int add(int a, int b) { return a + b + limit; }
int multiply(int a, int b) { return a * b; }
int apply(operation f, int a, int b) { return f(a, b); }

int longest(const char *a, const char *b) { return strlen(a) > strlen(b) ? (int)strlen(a) : (int)strlen(b); }
int word(int i) { return words[i & 1][0]; }
int cell(int i, int j) { return grid[i & 3][j & 3]; }

int digits(const char *s) {
  int n = 0;
  while (isdigit((unsigned char)s[n])) n++;
  return n;
}

int by_value(struct table t) { return t.items[0] + (int)t.count; }

void jumps(int depth) {
  if (depth == 0) longjmp(back, 1);
  jumps(depth - 1);
}

int catches(void) {
  if (setjmp(back)) return limit;
  jumps(3);
  return 0;
}

int local_array(int n) {
  int squares[16];
  for (int i = 0; i < 16; i++) squares[i] = i * i;
  int *p = squares;
  return p[n & 15] + sum_list(&(struct node){0, n});
}

int main(void) {
  struct node *list = NULL;
  for (int i = 0; i < 20; i++) list = push(list, i);
  int items[] = {3, 1, 2}, out[8];
  struct table table = {3, items, "table"};
  int total = clip(list) + sum_table(&table) + fills_first(out, 8) + by_value(table);
  total += apply(add, 1, 2) + apply(multiply, 3, 4) + longest("short", "longer") + word(1) + cell(1, 1);
  total += digits("1234x") + catches() + local_array(5);
  printf("%d\n", total);
  while (list) {
    struct node *next = list->next;
    free(list);
    list = next;
  }
  return 0;
}
