// Call paths as the rows of a tree: each function, and below it who calls it.
//
// Shape    rows in the order in which they are shown; functions and callers with the most samples
//          first. A group of threads stands below the outermost caller
// Units    samples are sampling periods
// Errors   none: without call paths there are no rows
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/units.md, "Call paths"
#ifndef COZ_REPORT_WORDING_PATH_TREE_ROWS_H_
#define COZ_REPORT_WORDING_PATH_TREE_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "coz/report/analysis/experiment_table.h"

namespace coz::report {

enum class PathPart { kFunction, kCaller, kNoCaller, kThreadGroup };

struct PathTreeRow {
  int depth = 0;
  PathPart part = PathPart::kFunction;
  std::string name;            // printable; empty for kNoCaller, and "@io" for a group of threads
  uint64_t samples = 0;        // of all paths through it
  std::optional<size_t> unit;  // of the path that ends here
};

// Paths with less than a two hundredth of the samples have rows only where `has_figures`.
std::vector<PathTreeRow> PathTreeRows(const ExperimentTable& table,
                                      const std::function<bool(size_t unit)>& has_figures);

}  // namespace coz::report

#endif  // COZ_REPORT_WORDING_PATH_TREE_ROWS_H_
