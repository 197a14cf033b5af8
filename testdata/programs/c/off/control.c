// Control flow that is hard to copy: jump tables, computed goto, recursion, calls through pointers, variable arguments,
// setjmp, tail calls, inline assembly. Prints the same whichever body runs.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf back;

__attribute__((noinline)) static int table(int x) {
  switch (x) {
  case 0: return 5;
  case 1: puts("one"); return 17;
  case 2: puts("two"); return 1;
  case 3: puts("three"); return 4;
  case 4: puts("four"); return 9;
  case 5: puts("five"); return 6;
  case 6: puts("six"); return 3;
  default: return -1;
  }
}

__attribute__((noinline)) static long interpret(const unsigned char *code) {
  static const void *const labels[] = {&&add, &&sub, &&mul, &&again, &&stop};
  long value = 1, count = 0;
#define NEXT goto *labels[*code++]
  NEXT;
add:
  value += 3;
  NEXT;
sub:
  value -= 1;
  NEXT;
mul:
  value *= 2;
  NEXT;
again:
  if (count++ < 1000) {
    code -= 4;
    value %= 1000003;
  }
  NEXT;
stop:
  return value;
}

__attribute__((noinline)) static int fib(int n) {
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__attribute__((noinline)) static int sum(int count, ...) {
  va_list list;
  va_start(list, count);
  int total = 0;
  for (int i = 0; i < count; i++)
    total += va_arg(list, int);
  va_end(list);
  return total;
}

static int compare(const void *a, const void *b) {
  int x = *(const int *)a, y = *(const int *)b;
  return x < y ? -1 : x > y;
}

__attribute__((noinline)) static void jump(int n) {
  if (n == 0)
    longjmp(back, 7);
  jump(n - 1);
}

__attribute__((noinline)) static long assembly(long x) {
  if (x > 3)
    __asm__("1: addq $1, %0\n\tcmpq $100, %0\n\tjl 1b" : "+r"(x));
  else
    __asm__("incq %0" : "+r"(x));
  return x;
}

__attribute__((noinline)) static int even(int n);
__attribute__((noinline)) static int odd(int n) { return n == 0 ? 0 : even(n - 1); }
__attribute__((noinline)) static int even(int n) { return n == 0 ? 1 : odd(n - 1); }

int main(void) {
  int total = 0;
  for (int i = 0; i < 8; i++)
    total += table(i);
  const unsigned char code[] = {0, 2, 1, 3, 4};
  printf("%d %ld %d %d\n", total, interpret(code), fib(15), sum(4, 1, 2, 3, 4));
  int numbers[] = {5, 3, 9, 1, 7, 3};
  qsort(numbers, 6, sizeof *numbers, compare);
  for (int i = 0; i < 6; i++)
    printf("%d ", numbers[i]);
  int landed = setjmp(back);
  if (landed == 0)
    jump(5);
  printf("%d %ld %ld %d\n", landed, assembly(5), assembly(1), even(10));
  return 0;
}
