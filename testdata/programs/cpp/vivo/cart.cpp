// A method, an overload and a template, tested from outside; one test throws.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <unseen.h>

namespace shop {
class Cart {
public:
  __attribute__((noinline)) void add(int price) { total += price; count++; }
  __attribute__((noinline)) int mean() const { return count ? total / count : 0; }
  int total = 0, count = 0;
};
__attribute__((noinline)) int rate(int n) { return n * 2; }
__attribute__((noinline)) int rate(long n) { return n * 3; }
template <typename T> __attribute__((noinline)) T largest(T a, T b) { return a > b ? a : b; }
}

static bool total_grows(shop::Cart *cart, int price) {
  int before = cart->total;
  cart->add(price);
  return cart->total >= before;
}
static void mean_is_small(const shop::Cart *cart) {
  if (cart->mean() > 50) throw std::runtime_error("mean " + std::to_string(cart->mean()));
}
static bool rate_is_even(int n) { return shop::rate(n) % 2 == 0; }
static bool largest_is_one_of_them(double a, double b) { double l = shop::largest(a, b); return l == a || l == b; }
UNSEEN_TEST_NAMED("shop::Cart::add(int)", total_grows)
UNSEEN_TEST_NAMED("shop::Cart::mean", mean_is_small)
UNSEEN_TEST(static_cast<int (*)(int)>(shop::rate), rate_is_even)
UNSEEN_TEST_NAMED("_ZN4shop7largestIdEET_S1_S1_", largest_is_one_of_them)

int main() {
  shop::Cart cart;
  int sum = 0;
  for (int price : {10, 20, 90, -5, 300}) { cart.add(price); sum += cart.mean() + shop::rate(price) + shop::rate(2L); }
  try { sum += (int)shop::largest(1.5, 2.5); } catch (...) { sum = -1; }
  std::printf("%d\n", sum);
}
