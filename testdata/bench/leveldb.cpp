// Workload for LevelDB: fills a table in shuffled order, reads it back by key and in order, deletes, compacts.
// One thread at a time does the work that counts: the compactions are asked for, not left to chance.
#include "leveldb/db.h"
#include "leveldb/write_batch.h"
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

static std::string key(uint64_t n) {
  char text[32];
  std::snprintf(text, sizeof text, "key-%016llx", (unsigned long long)(n * 0x9e3779b97f4a7c15u));
  return text;
}

static void check(const leveldb::Status &status) {
  if (status.ok()) return;
  std::fprintf(stderr, "table: %s\n", status.ToString().c_str());
  std::exit(1);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: table DIRECTORY ENTRIES\n");
    return 2;
  }
  uint64_t entries = std::strtoull(argv[2], nullptr, 10);
  leveldb::DestroyDB(argv[1], leveldb::Options());
  leveldb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 64 << 20;
  leveldb::DB *opened = nullptr;
  check(leveldb::DB::Open(options, argv[1], &opened));
  std::unique_ptr<leveldb::DB> db(opened);
  for (uint64_t n = 0; n < entries; n += 100) {
    leveldb::WriteBatch batch;
    for (uint64_t i = n; i < n + 100; i++) batch.Put(key(i), key(i * i) + key(i + 1));
    check(db->Write(leveldb::WriteOptions(), &batch));
  }
  db->CompactRange(nullptr, nullptr);
  uint64_t sum = 0;
  std::string value;
  for (uint64_t n = 0; n < entries; n++) {
    check(db->Get(leveldb::ReadOptions(), key(n * 7 % entries), &value));
    sum += (unsigned char)value[10];
  }
  std::unique_ptr<leveldb::Iterator> it(db->NewIterator(leveldb::ReadOptions()));
  for (it->SeekToFirst(); it->Valid(); it->Next()) sum += it->value().size();
  check(it->status());
  it.reset();
  for (uint64_t n = 0; n < entries; n += 3) check(db->Delete(leveldb::WriteOptions(), key(n)));
  db->CompactRange(nullptr, nullptr);
  std::printf("%llu\n", (unsigned long long)sum);
}
