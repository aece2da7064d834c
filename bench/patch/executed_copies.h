// Runs displaced instructions of a library, and the stub that stands for them, from equal states,
// and compares what comes of both: registers, flags, vector registers and memory.
//
// Shape    a sample of places, half of them entries of functions, half any instruction; of each
//          half a third as is best there, a third by a jump that shares bytes where one can be, and
//          a third by an int3
// Units    places
// Errors   a difference is a sentence. What cannot be compared is counted
// Threads  one: the puppet's
// Signals  none
// Source   docs/design/patching.md
#ifndef COZ_BENCH_PATCH_EXECUTED_COPIES_H_
#define COZ_BENCH_PATCH_EXECUTED_COPIES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/patch/library_code.h"

namespace coz::bench {

struct Kinds {
  size_t jumps = 0;   // of five bytes
  size_t shared = 0;  // jumps that share bytes
  size_t traps = 0;
};

struct ExecutedCopies {
  size_t places = 0;        // compared
  Kinds kinds;              // of them
  Kinds best;               // of those at any instruction that are counted as is best there
  size_t instructions = 0;  // displaced ones, of all places
  size_t faults = 0;        // places where both faulted, at the same instruction
  size_t refused = 0;       // places that can be instrumented in no way
  size_t without_stub = 0;  // no address for a stub fits
  size_t varying = 0;       // instructions that give another result each time (rdtsc, rdrand)
  std::vector<std::string> differences;
};

ExecutedCopies ExecuteCopies(const LibraryCode& library, size_t places, uint64_t seed);

}  // namespace coz::bench

#endif  // COZ_BENCH_PATCH_EXECUTED_COPIES_H_
