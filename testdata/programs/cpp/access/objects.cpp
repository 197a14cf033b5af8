// Objects, virtual calls, exceptions and what the library's templates do: every call is checked, and nothing is missed.
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct Shape {
  virtual ~Shape() = default;
  virtual int area() const = 0;
};
struct Square : Shape {
  int side;
  explicit Square(int side) : side(side) {}
  int area() const override { return side * side; }
};
struct Box : Shape {
  int width, height;
  Box(int width, int height) : width(width), height(height) {}
  int area() const override { return width * height; }
};

static int scale = 2;

int total(const std::vector<std::unique_ptr<Shape>> &shapes) {
  int sum = 0;
  for (const auto &shape : shapes) sum += shape->area() * scale;
  return sum;
}

int checked(const std::vector<int> &v, size_t i) {
  if (i >= v.size()) throw std::out_of_range("checked");
  return v[i];
}

int tries(const std::vector<int> &v) {
  try {
    return checked(v, 7);
  } catch (const std::exception &) {
    return scale;
  }
}

int count(const std::map<int, int> &m, int key) {
  auto found = m.find(key);
  return found == m.end() ? 0 : found->second;
}

int main() {
  std::vector<std::unique_ptr<Shape>> shapes;
  shapes.push_back(std::make_unique<Square>(3));
  shapes.push_back(std::make_unique<Box>(2, 5));
  std::vector<int> numbers{1, 2, 3};
  std::map<int, int> map;
  for (int i = 0; i < 10; i++) map[i] = i * i;
  std::string text = "a string that is too long to lie in its object";
  text += std::to_string(total(shapes));
  std::printf("%s %d %d %d\n", text.c_str(), checked(numbers, 1), tries(numbers), count(map, 4));
}
