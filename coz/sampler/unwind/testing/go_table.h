// Makes tables of functions as Go's linker does, for tests.
//
// Shape    a version of the table, and functions in the order of their addresses
// Units    addresses; bytes
// Errors   none
// Threads  compatible
// Signals  none
// Source   Go's src/cmd/link/internal/ld/pcln.go
#ifndef COZ_SAMPLER_UNWIND_TESTING_GO_TABLE_H_
#define COZ_SAMPLER_UNWIND_TESTING_GO_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace coz::testing {

struct GoFunction {
  // How deep the stack is, for so many bytes of code.
  struct Depth {
    int64_t depth;
    uint64_t bytes;
  };
  uint64_t entry;
  std::vector<Depth> depths;
  uint8_t flags = 0;
};

struct GoVersion {
  uint32_t magic;
  uint64_t entry_bytes;
  uint64_t record_bytes;
  uint64_t depths_at;
  uint64_t flags_at;
};
inline constexpr GoVersion kGoVersions[] = {
    {0xfffffffa, 8, 44, 20, 41},
    {0xfffffff0, 4, 40, 16, 37},
    {0xfffffff1, 4, 44, 16, 41},
};

template <typename T>
void PutAt(std::vector<uint8_t>* bytes, uint64_t offset, T value, uint64_t size = sizeof(T)) {
  if (bytes->size() < offset + size) bytes->resize(offset + size);
  for (uint64_t i = 0; i < size; ++i) {
    (*bytes)[offset + i] = static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * i));
  }
}

inline void PutUleb128(std::vector<uint8_t>* bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes->push_back(static_cast<uint8_t>(value | 0x80));
  bytes->push_back(static_cast<uint8_t>(value));
}

// `end`: of the last function.
inline std::vector<uint8_t> MakeGoTable(const GoVersion& version, uint64_t text_start,
                                        const std::vector<GoFunction>& functions, uint64_t end) {
  const bool is_absolute = version.entry_bytes == 8;
  const uint64_t base = is_absolute ? 0 : text_start;
  std::vector<uint8_t> values = {0};  // what lies at 0 is no list
  std::vector<uint64_t> lists;
  for (const GoFunction& function : functions) {
    lists.push_back(values.size());
    int64_t before = -1;
    for (const GoFunction::Depth& depth : function.depths) {
      const int64_t change = depth.depth - before;
      PutUleb128(&values, static_cast<uint64_t>(change << 1 ^ change >> 63));
      PutUleb128(&values, depth.bytes);
      before = depth.depth;
    }
    values.push_back(0);
  }
  const uint64_t words = is_absolute ? 7 : 8;
  const uint64_t values_at = 8 + 8 * words;
  const uint64_t functions_at = (values_at + values.size() + 7) / 8 * 8;
  std::vector<uint8_t> table;
  PutAt(&table, 0, version.magic);
  PutAt(&table, 6, uint8_t{1});
  PutAt(&table, 7, uint8_t{8});
  PutAt(&table, 8, uint64_t{functions.size()});
  if (!is_absolute) PutAt(&table, 24, text_start);
  PutAt(&table, values_at - 16, values_at);
  PutAt(&table, values_at - 8, functions_at);
  table.insert(table.end(), values.begin(), values.end());
  const uint64_t row_bytes = 2 * version.entry_bytes;
  uint64_t record_at = row_bytes * functions.size() + version.entry_bytes;
  for (size_t i = 0; i < functions.size(); ++i) {
    const uint64_t row_at = functions_at + i * row_bytes;
    PutAt(&table, row_at, functions[i].entry - base, version.entry_bytes);
    PutAt(&table, row_at + version.entry_bytes, record_at, version.entry_bytes);
    PutAt(&table, functions_at + record_at + version.record_bytes - 1, uint8_t{0});
    PutAt(&table, functions_at + record_at + version.depths_at, static_cast<uint32_t>(lists[i]));
    PutAt(&table, functions_at + record_at + version.flags_at, functions[i].flags);
    record_at += version.record_bytes;
  }
  PutAt(&table, functions_at + row_bytes * functions.size(), end - base, version.entry_bytes);
  return table;
}

}  // namespace coz::testing

#endif  // COZ_SAMPLER_UNWIND_TESTING_GO_TABLE_H_
