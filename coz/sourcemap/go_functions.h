// Finds the table by which Go's runtime leaves its functions (pclntab).
//
// Shape    one look at a file's headers
// Units    addresses as in the file; bytes
// Errors   a file without such a table has one of 0 bytes
// Threads  safe
// Signals  not safe
// Source   elf(5); Go's src/cmd/link/internal/ld/data.go: names of sections
#ifndef COZ_SOURCEMAP_GO_FUNCTIONS_H_
#define COZ_SOURCEMAP_GO_FUNCTIONS_H_

#include <cstdint>
#include <string>

namespace coz::sourcemap {

struct GoFunctionTable {
  uint64_t address = 0;
  uint64_t bytes = 0;
};

GoFunctionTable FindGoFunctions(const std::string& path);

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_GO_FUNCTIONS_H_
