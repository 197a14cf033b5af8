// Exceptions, templates, lambdas, virtual calls, destructors. Lines on which Unseen and llvm-cov differ say why.
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace shapes {

struct Shape { // differs: the implicit constructor or destructor is code here
  virtual ~Shape() = default;
  virtual int area() const = 0;
  virtual const char *name() const {
    return "shape";
  }
};

struct Square : Shape { // differs: the implicit constructor or destructor is code here
  int side;
  explicit Square(int s) : side(s) {}
  int area() const override {
    return side * side;
  }
};

struct Strip : Shape { // differs: the implicit constructor or destructor is code here
  int length;
  explicit Strip(int l) : length(l) {
    if (l < 0)
      throw std::invalid_argument("length");
  }
  int area() const override {
    return length;
  }
  const char *name() const override {
    return "strip";
  }
};

} // namespace shapes

template <typename T> T larger(T a, T b) {
  if (a < b)
    return b;
  return a;
}

template <typename T> T unused_template(T a) {
  return a;
}

struct Guard {
  int *count;
  explicit Guard(int *c) : count(c) {
    ++*count;
  }
  ~Guard() {
    --*count;
  }
};

static int parse(const std::string &text) {
  if (text.empty())
    throw std::runtime_error("empty");
  int value = 0;
  for (char c : text) {
    if (c < '0' || c > '9')
      return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

static int guarded(const std::string &text, int *count) {
  Guard guard(count);
  try {
    return parse(text);
  } catch (const std::runtime_error &e) {
    std::printf("caught %s\n", e.what());
    return -2;
  } catch (...) {
    std::printf("something else\n");
    throw;
  } // differs: the exception caught above is destroyed here
}

int main(int argc, char **argv) {
  std::vector<std::unique_ptr<shapes::Shape>> all;
  all.push_back(std::make_unique<shapes::Square>(3));
  all.push_back(std::make_unique<shapes::Strip>(7));
  int sum = 0;
  for (const auto &shape : all) {
    sum += shape->area();
  }
  std::printf("%d %s\n", sum, all[1]->name());
  int count = 0;
  std::printf("%d %d\n", guarded("12", &count), guarded("", &count));
  auto add = [&](int x) {
    if (x > 10)
      return sum - x;
    return sum + x;
  };
  auto unused = [&](int x) {
    return sum * x; // differs: clang emits no code for what is never called
  };
  (void)unused; // differs: no code
  std::printf("%d\n", add(argc));
  std::printf("%d\n", larger(1, 2));
  std::printf("%f\n", larger(2.5, 1.5));
  if (argc > 9) {
    return guarded(argv[9], &count);
  }
  return count;
}
