// ./bazelw build --config=fuzz //coz/sourcemap:line_table_fuzzer &&
// bazel-bin/coz/sourcemap/line_table_fuzzer
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "coz/sourcemap/line_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using coz::sourcemap::LineTableHeader;
  std::vector<uint64_t> image((size + 7) / 8);
  std::memcpy(image.data(), data, size);
  if (size >= sizeof(LineTableHeader)) {
    // A fuzzer does not guess magic numbers and checksums.
    LineTableHeader header;
    std::memcpy(&header, image.data(), sizeof(header));
    header.magic = coz::sourcemap::kLineTableMagic;
    header.format_version = coz::sourcemap::kLineTableFormatVersion;
    header.total_bytes = size;
    header.header_checksum = coz::sourcemap::LineTableHeaderChecksum(header);
    std::memcpy(image.data(), &header, sizeof(header));
  }
  coz::sourcemap::LineTable table;
  if (!coz::sourcemap::LineTable::FromBytes(image.data(), size, &table)) return 0;
  for (const uint64_t address : {uint64_t{0}, table.base_address(), table.base_address() + 100,
                                 table.end_address(), UINT64_MAX}) {
    const uint32_t index = table.Lookup(address);
    if (index != coz::sourcemap::kNoLine && index >= table.line_count()) std::abort();
    const coz::sourcemap::Line line = table.line(index);
    if (std::strlen(line.file) + std::strlen(line.function) > 2 * size) std::abort();
  }
  uint32_t found[4];
  table.FindLines("a:1", found, 4);
  table.VerifyContents();
  return 0;
}
