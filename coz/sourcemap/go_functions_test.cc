#include "coz/sourcemap/go_functions.h"

#include <link.h>

#include "gtest/gtest.h"

namespace coz::sourcemap {
namespace {

// In this test itself.
__attribute__((section(".gopclntab"), used)) const unsigned char kTable[] = {1, 2, 3};

int TakeLoadBias(dl_phdr_info* info, size_t, void* opaque) {
  *static_cast<uint64_t*>(opaque) = info->dlpi_addr;
  return 1;  // the program comes first
}

TEST(FindGoFunctionsTest, TableIsFoundByTheNameOfItsSection) {
  uint64_t load_bias = 0;
  dl_iterate_phdr(TakeLoadBias, &load_bias);
  const GoFunctionTable found = FindGoFunctions("/proc/self/exe");
  EXPECT_EQ(load_bias + found.address, reinterpret_cast<uint64_t>(kTable));
  EXPECT_EQ(found.bytes, sizeof(kTable));
}

TEST(FindGoFunctionsTest, FilesWithoutOneHaveNone) {
  for (const char* path : {"/bin/true", "/etc/passwd", "/nowhere", "/"}) {
    EXPECT_EQ(FindGoFunctions(path).bytes, 0u) << path;
  }
}

}  // namespace
}  // namespace coz::sourcemap
