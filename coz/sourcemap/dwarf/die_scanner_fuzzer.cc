// A unit's abbreviations and its bytes, from .debug_abbrev and .debug_info.
//
// ./bazelw build --config=fuzz //coz/sourcemap/dwarf:die_scanner_fuzzer &&
// bazel-bin/coz/sourcemap/dwarf/die_scanner_fuzzer
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "coz/sourcemap/dwarf/die_scanner.h"

// Two bytes say how both are coded and how many bytes the abbreviations have.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const coz::sourcemap::UnitEncoding encoding = {
      static_cast<uint16_t>(2 + data[0] % 4), static_cast<uint8_t>((data[0] & 0x40) != 0 ? 4 : 8),
      static_cast<uint8_t>((data[0] & 0x80) != 0 ? 8 : 4)};
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::string_view abbreviations = bytes.substr(0, std::min<size_t>(data[1], bytes.size()));
  const std::string_view unit = bytes.substr(abbreviations.size());
  coz::sourcemap::DieScanner scanner;
  if (!scanner.ReadAbbreviations(abbreviations, 0, encoding)) return 0;
  scanner.Scan(unit, [&](const coz::sourcemap::DieScanner::Kind&, const char* die, uint32_t depth) {
    if (die < unit.data() || die >= unit.data() + unit.size() || depth > unit.size()) std::abort();
  });
  return 0;
}
