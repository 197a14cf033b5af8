// Workload for pugixml: loads a document, queries it by XPath and by hand, changes it, saves it to memory; prints one number.
#include "pugixml.hpp"
#include <cstdio>
#include <cstring>
#include <sstream>

int main(int argc, char **argv) {
  pugi::xml_document document;
  if (argc != 2 || !document.load_file(argv[1])) {
    std::fprintf(stderr, "usage: query FILE.xml\n");
    return 2;
  }
  double sum = 0;
  pugi::xpath_query dear("//entry[price > 50 and @kind != 'gift']/title");
  for (const pugi::xpath_node &found : dear.evaluate_node_set(document)) sum += std::strlen(found.node().child_value());
  for (pugi::xml_node entry : document.child("catalogue").children("entry")) {
    double price = entry.child("price").text().as_double();
    sum += price * entry.attribute("count").as_int();
    entry.append_attribute("total") = price;
    if (price < 10) entry.remove_child("note");
  }
  std::ostringstream saved;
  document.save(saved, " ");
  std::printf("%.2f %zu\n", sum, saved.str().size());
}
