// Finds how a function of Go's is left, by the table that Go's runtime keeps for its own tracebacks
// (pclntab). Go's code has no .eh_frame.
//
// Shape    a view into the program's own memory
// Units    runtime addresses
// Errors   an enum; a table of an unknown version, or a damaged one, has no functions
// Threads  safe
// Signals  async-signal-safe
// Source   Go's src/debug/gosym/pclntab.go, and runtime/symtab.go (pcvalue, step): versions 1.16,
//          1.18 and 1.20 of the table, of Go 1.16 to 1.24
#ifndef COZ_SAMPLER_UNWIND_GO_FUNCTIONS_H_
#define COZ_SAMPLER_UNWIND_GO_FUNCTIONS_H_

#include <cstdint>

#include "coz/sampler/unwind/cfa_program.h"
#include "coz/sampler/unwind/eh_frame.h"

namespace coz::sampler {

class GoFunctions {
 public:
  GoFunctions(const uint8_t* begin, const uint8_t* end) : begin_(begin), end_(end) {}

  // The rules at `lookup_address`. A function that begins a goroutine's stack, or changes to
  // another stack, has no caller.
  FindResult FindRules(uint64_t lookup_address, FrameRules* rules) const;

 private:
  const uint8_t* begin_;
  const uint8_t* end_;
};

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_UNWIND_GO_FUNCTIONS_H_
