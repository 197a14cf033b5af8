// Workload for JsonCpp: parses a file, walks and changes the records, writes them again; prints one number.
#include "json/json.h"
#include <cstdio>
#include <fstream>
#include <sstream>

int main(int argc, char **argv) {
  std::ifstream file(argc == 2 ? argv[1] : "");
  Json::Value root;
  std::string errors;
  if (!file || !Json::parseFromStream(Json::CharReaderBuilder(), file, &root, &errors)) {
    std::fprintf(stderr, "usage: rewrite FILE.json\n%s", errors.c_str());
    return 2;
  }
  double sum = 0;
  for (Json::Value &record : root) {
    double total = 0;
    for (const Json::Value &item : record["items"]) total += item["price"].asDouble() * item["count"].asInt();
    record["total"] = total;
    record.removeMember("tags");
    sum += total;
  }
  std::ostringstream written;
  Json::StreamWriterBuilder builder;
  builder["indentation"] = " ";
  std::unique_ptr<Json::StreamWriter>(builder.newStreamWriter())->write(root, &written);
  std::printf("%.2f %zu\n", sum, written.str().size());
}
