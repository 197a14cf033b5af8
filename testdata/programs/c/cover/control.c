// Every kind of control flow, each way taken or not. Lines on which Unseen and llvm-cov differ say why.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf back;

static int classify(int x) {
  if (x < 0)
    return -1;
  else if (x == 0)
    return 0;
  else {
    x++;
  }
  return x > 100 ? 2 : 1;
}

static int switches(int x) {
  int result = 0;
  switch (x) {
  case 1:
    result = 10;
    break; // differs: a jump behind other code is no statement of its own
  case 2:
    result += 5;
    // falls through
  case 3:
    result += 20;
    break; // differs: a jump behind other code is no statement of its own
  case 4:
  case 5:
    result = 45;
    break; // differs: a jump behind other code is no statement of its own
  default:
    result = -1;
  }
  return result;
}

static int loops(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    if (i == 3)
      continue;
    if (i == 50)
      break;
    sum += i;
  }
  while (n > 100) {
    n--;
  }
  do {
    sum++;
  } while (sum < 0);
  return sum;
}

static int logic(int a, int b, int c) {
  if (a && (b || c))
    return 1;
  if (!a &&
      b &&
      c)
    return 2;
  return 0;
}

static int jumps(int n) {
  int i = 0;
again:
  i++;
  if (i < n)
    goto again;
  if (i > 1000)
    goto out;
  return i;
out:
  return -1;
}

static void deep(int n) {
  if (n == 0)
    longjmp(back, 1);
  deep(n - 1);
}

static int never_called(int x) {
  return x * 2;
}

static void empty(void) {
}

static int early(int x) {
  if (x)
    return 1;
  printf("not early\n");
  return 0;
}

static void leaves(int x) {
  if (x)
    exit(0);
  printf("stays\n");
}

int main(int argc, char **argv) {
  int total = 0;
  total += classify(5);
  total += classify(0);
  total += switches(2);
  total += switches(4);
  total += loops(5);
  total += logic(1, 0, 1);
  total += logic(0, 1, 0);
  total += jumps(4);
  if (setjmp(back) == 0) {
    deep(3);
    printf("not reached\n");
  } else {
    printf("back\n"); // differs: llvm-cov subtracts counts, and longjmp makes them lie
  }
  empty();
  total += early(argc);
  if (argc > 5)
    total += never_called(argc);
  printf("%d %s\n", total, argv[0] ? "named" : "nameless");
  leaves(0);
  leaves(1);
  printf("gone\n");
  return 0;
}
