// ./bazelw build --config=fuzz //coz/sourcemap/dwarf:line_program_fuzzer &&
// bazel-bin/coz/sourcemap/dwarf/line_program_fuzzer
#include <cstdint>
#include <string_view>
#include <vector>

#include "coz/sourcemap/dwarf/line_program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  coz::sourcemap::LineProgram program;
  std::vector<coz::sourcemap::LineRow> rows;
  if (program.ReadHeader({bytes, bytes, bytes}, 0, "/folder")) program.ReadRows(&rows);
  return 0;
}
