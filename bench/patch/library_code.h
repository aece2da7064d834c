// A library's code, mapped but not loaded: nothing of it has been relocated, and nothing runs.
//
// Shape    its segments at one bias, and its functions by call frame information, ascending
// Units    runtime addresses of this process; bytes
// Errors   NOT_FOUND, INVALID_ARGUMENT: a file that is no library; the message names it
// Threads  compatible
// Signals  none
// Source   elf(5); coz/points/function_extents.h
#ifndef COZ_BENCH_PATCH_LIBRARY_CODE_H_
#define COZ_BENCH_PATCH_LIBRARY_CODE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace coz::bench {

struct FunctionCode {
  uint64_t address;
  uint64_t bytes;
  uint64_t room;    // to the next function, at least `bytes`
  uint64_t behind;  // bytes of code that follow on that, at most a few
  const uint8_t* code() const { return reinterpret_cast<const uint8_t*>(address); }
};

struct LibraryCode {
  std::string path;
  uint64_t bias;
  uint64_t bytes;  // from its lowest address to its highest
  std::vector<FunctionCode> functions;
};

// It stays mapped, writable data too, as a private copy.
absl::StatusOr<LibraryCode> MapLibrary(const std::string& path);

}  // namespace coz::bench

#endif  // COZ_BENCH_PATCH_LIBRARY_CODE_H_
