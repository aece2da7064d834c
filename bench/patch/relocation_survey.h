// What of a library's code can be counted by changing it, and how.
//
// Shape    every function's entry is planned; every instruction is decoded, and copied where it may
// Units    functions, instructions
// Errors   counted: bytes that are no instruction end the walk through their function
// Threads  safe
// Signals  not safe
// Source   docs/design/patching.md
#ifndef COZ_BENCH_PATCH_RELOCATION_SURVEY_H_
#define COZ_BENCH_PATCH_RELOCATION_SURVEY_H_

#include <cstddef>
#include <map>
#include <string>

#include "bench/patch/library_code.h"

namespace coz::bench {

struct RelocationSurvey {
  size_t functions = 0;
  size_t jumps = 0;   // of five bytes
  size_t shared = 0;  // jumps that share bytes
  size_t traps = 0;
  std::map<std::string, size_t> refused;  // entries, by the reason
  size_t undecoded = 0;                   // functions with bytes that are no instruction
  size_t instructions = 0;
  size_t copied = 0;
  std::map<std::string, size_t> not_copied;  // instructions, by the reason
  size_t failed = 0;  // instructions that Decode allows and Relocate does not copy
};

RelocationSurvey SurveyLibrary(const LibraryCode& library);

}  // namespace coz::bench

#endif  // COZ_BENCH_PATCH_RELOCATION_SURVEY_H_
