// What the debug information of a binary covers, by its headers alone.
//
// Shape    sums over compilation units; a few ms for a large binary
// Units    bytes of code
// Errors   those of DebugFile::Open
// Threads  as DebugFile::Open
// Signals  not safe
// Source   DWARF 5, sections 3.1.1 and 7.5; GCC and clang's DW_AT_producer
#ifndef COZ_SOURCEMAP_DWARF_DEBUG_SUMMARY_H_
#define COZ_SOURCEMAP_DWARF_DEBUG_SUMMARY_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace coz::sourcemap {

struct DebugSummary {
  std::string path;  // of the file with the debug information, as DebugFile::debug_path
  std::map<int, uint64_t>
      units_by_version;            // of DWARF; units without code of their own are left out
  uint64_t units_unoptimized = 0;  // GCC says how it was called; clang does not, and never counts
  uint64_t units_optimized = 0;    // likewise
  uint64_t splits_missing = 0;     // units whose .dwo file is not there
  std::string split_missing;       // the first of these files, as its unit has it
  std::string split_package;       // that may hold them, and that libdw cannot read; else empty
  uint64_t code_bytes = 0;         // of the binary
  uint64_t covered_bytes = 0;      // of these, in a unit
};

absl::StatusOr<DebugSummary> SummarizeDebugInfo(const std::string& path);

// Of the text of DW_AT_producer.
enum class Optimization { kUnknown, kNone, kSome };
Optimization OptimizationOf(const std::string& producer);

}  // namespace coz::sourcemap

#endif  // COZ_SOURCEMAP_DWARF_DEBUG_SUMMARY_H_
