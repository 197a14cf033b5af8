// Much of the standard library, which counts on what the compiler does with its inline functions and templates at every level.

#include <algorithm>
#include <any>
#include <filesystem>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

struct Shape {
  virtual ~Shape() = default;
  virtual int corners() const { return 0; }
};

struct Square : Shape {
  int corners() const override { return 4; }
};

template <class T> T sum(T a, T b) { return a + b; }

int main() {
  std::vector<std::string> words{"b", "a", "c"};
  std::sort(words.begin(), words.end());
  std::map<std::string, size_t> places;
  for (const std::string &word : words)
    places[word] = places.size();
  std::unordered_map<int, std::string> names{{3, "three"}};
  std::ostringstream out;
  out << words[0] << ' ' << places["b"] << ' ' << names[3] << ' ' << sum(1.5, 2.0) << '\n';
  std::smatch match;
  const std::string text = "abab";
  out << std::regex_match(text, match, std::regex("(a|b)+")) << ' ' << match.size() << '\n';
  std::unique_ptr<Shape> shape = std::make_unique<Square>();
  out << shape->corners() << '\n';
  try {
    std::vector<int>().at(3);
  } catch (const std::out_of_range &) {
    out << "out of range\n";
  }
  std::thread([&] { out << "in a thread\n"; }).join();
  out << std::async(std::launch::async, [] { return 42; }).get() << '\n';
  std::variant<int, std::string> either = "either";
  std::optional<int> maybe = 5;
  std::any anything = 7;
  out << std::get<std::string>(either) << ' ' << *maybe << ' ' << std::any_cast<int>(anything) << '\n';
  std::function<int(int)> twice = [](int n) { return 2 * n; };
  out << twice(4) << ' ' << std::filesystem::path("/a/b").filename().string() << ' ' << std::mt19937(1)() << '\n';
  std::cout << out.str();
}
