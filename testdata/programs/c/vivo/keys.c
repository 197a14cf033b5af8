// States of a few bytes of all shapes: each value is a state of its own, and each is tested once, however often it comes.
#include <stdint.h>
#include <stdio.h>
#include <unseen.h>

struct point {
  float x, y;
};
struct pair {
  int16_t a, b;
};
static int16_t low;
static _Thread_local int8_t own;
static struct {
  char text[3];
  double number;
} wide;

#define UNIT __attribute__((noinline)) static
UNIT int narrow(int a) { return a + 1; }
UNIT float flat(struct point p) { return p.x + p.y; }
UNIT int two(struct pair p) { return p.a * 3 + p.b; }
UNIT long both(long a, long b) { return a ^ b; }
UNIT int outer(char a) { return a + low + own; }
UNIT double odd(int a) { return wide.text[0] + wide.text[1] + wide.text[2] + wide.number + a; }
UNIT double real(double x) { return x * 2; }

#define TEST(name, ...) \
  static int name##_is_fine(__VA_ARGS__) { return 1; } \
  UNSEEN_TEST(name, name##_is_fine)
TEST(narrow, int a)
TEST(flat, struct point p)
TEST(two, struct pair p)
TEST(both, long a, long b)
TEST(outer, char a)
TEST(odd, int a)
TEST(real, double x)

int main(void) {
  double sum = 0;
  for (int round = 0; round < 3000; round++) {
    int i = round % 10;
    sum += narrow(i);
    sum += flat((struct point){i % 2, i / 2});
    sum += two((struct pair){(int16_t)i, (int16_t)(i % 3)});
    sum += (double)both(i % 5, (long)(i % 2) << 40);
    low = (int16_t)(i % 4), own = (int8_t)(i % 3);
    sum += outer((char)(i % 2));
    wide.text[2] = (char)(i % 2), wide.number = i % 5;
    sum += odd(7);
    // Zeros of both signs are two states; all numbers that are none are one.
    double reals[] = {0.0, -0.0, 1.5, __builtin_nan("1"), __builtin_nan("2")};
    double r = real(reals[i % 5]);
    sum += r == r ? r : 0;
  }
  printf("%.0f\n", sum);
  return 0;
}
