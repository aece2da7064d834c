// Prints the source line of an ELF address, like addr2line. ../README.md shows its middle part.
// Usage: example <elf file> <address in hexadecimal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "coz/sourcemap/dwarf_reader.h"
#include "coz/sourcemap/line_table.h"
#include "coz/sourcemap/scope.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s <elf file> <address in hexadecimal>\n", argv[0]);
    return 2;
  }
  const uint64_t elf_address = std::strtoull(argv[2], nullptr, 16);
  const auto result = coz::sourcemap::ReadLineTable(argv[1], coz::sourcemap::SourceScope());
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", std::string(result.status().message()).c_str());
    return 1;
  }
  coz::sourcemap::LineTable table;  // looks at the bytes of result->image
  if (!coz::sourcemap::LineTable::FromBytes(result->image.data(), result->image.size(), &table)) {
    return 1;
  }
  const coz::sourcemap::Line line = table.line(table.Lookup(elf_address));
  if (line.line == 0) {
    std::printf("no line in scope\n");
  } else {
    std::printf("%s:%u\n", std::string(line.file).c_str(), static_cast<unsigned>(line.line));
  }
  return 0;
}
