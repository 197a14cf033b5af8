// Workload for RE2: searches each line of a text with a handful of expressions, with and without captures, and replaces.
#include "re2/re2.h"
#include "re2/set.h"
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

int main(int argc, char **argv) {
  std::ifstream text(argc == 2 ? argv[1] : "");
  if (!text) {
    std::fprintf(stderr, "usage: match FILE\n");
    return 2;
  }
  RE2 word(R"((\w+)ing\s+(the|a)\b)"), number(R"((\d+)-(\d+))"), mail(R"([a-z]+@[a-z]+\.(?:com|org))"), vowels("[aeiou]{2,}");
  RE2::Set set(RE2::DefaultOptions, RE2::UNANCHORED);
  for (const char *pattern : {"stone", "w[aeiou]ter", "^the", "[0-9]{3}$", "(?i)river|mountain"}) set.Add(pattern, nullptr);
  set.Compile();
  size_t sum = 0;
  std::string line;
  std::vector<int> hits;
  while (std::getline(text, line)) {
    re2::StringPiece rest(line);
    std::string first, second;
    while (RE2::FindAndConsume(&rest, word, &first, &second)) sum += first.size();
    int low, high;
    if (RE2::PartialMatch(line, number, &low, &high)) sum += high - low;
    sum += RE2::PartialMatch(line, mail);
    hits.clear();
    if (set.Match(line, &hits)) sum += hits.size();
    sum += RE2::GlobalReplace(&line, vowels, "_");
  }
  std::printf("%zu\n", sum);
}
