// How the lines of a file can be counted by changing its code, each by itself.
//
// Shape    one place at each address where a statement begins
// Units    places
// Errors   none: places outside of functions are left out
// Threads  safe
// Signals  none
// Source   docs/design/patching.md
#ifndef COZ_BENCH_PATCH_LINE_SURVEY_H_
#define COZ_BENCH_PATCH_LINE_SURVEY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/patch/library_code.h"
#include "coz/patch/stub_space.h"

namespace coz::bench {

struct LineSurvey {
  size_t lines = 0;
  size_t jumps = 0;   // of five bytes
  size_t shared = 0;  // jumps that share bytes
  size_t traps = 0;
  size_t refused = 0;
};

// A process that has the file loaded.
struct LoadedAt {
  uint64_t bias;
  std::vector<patch::AddressRange> mapped;
};

LineSurvey SurveyLines(const LibraryCode& library, const std::vector<uint64_t>& addresses,
                       const LoadedAt& process);

}  // namespace coz::bench

#endif  // COZ_BENCH_PATCH_LINE_SURVEY_H_
