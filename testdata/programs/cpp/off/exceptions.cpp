// Exceptions through frames with clean-ups, rethrown and of several types: every landing pad must exist in both bodies.
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>

struct Noisy {
  const char *name;
  ~Noisy() { std::printf("~%s\n", name); }
};

__attribute__((noinline)) static int deep(int n) {
  Noisy noisy{"deep"};
  if (n == 0)
    throw std::runtime_error("bottom");
  if (n == 100)
    throw 5;
  return deep(n - 1) + 1;
}

struct Base {
  virtual ~Base() = default;
  virtual int value(int x) = 0;
};
struct Plus : Base {
  int value(int x) override { return x > 2 ? deep(x - 3) : x + 1; }
};

int main(int argc, char **) {
  try {
    deep(3);
  } catch (const std::exception &e) {
    std::printf("caught %s\n", e.what());
  }
  try {
    deep(100);
  } catch (int i) {
    std::printf("int %d\n", i);
  }
  try {
    try {
      deep(argc);
    } catch (...) {
      std::puts("again");
      throw;
    }
  } catch (std::exception &e) {
    std::puts(e.what());
  }
  std::map<std::string, int> map;
  for (int i = 0; i < 5; i++)
    map["key" + std::to_string(i)] = i;
  try {
    map.at("missing");
  } catch (std::out_of_range &) {
    std::puts("range");
  }
  Plus plus;
  Base *base = &plus;
  int sum = 0;
  for (int i = 0; i < 5; i++) {
    try {
      sum += base->value(i);
    } catch (std::exception &) {
      sum += 100;
    }
  }
  std::printf("%d\n", sum);
}
