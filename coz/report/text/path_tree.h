// Call paths as a tree: each function, and below it, indented, who calls it.
//
//     helper      58.1 %
//       < serve   40.0 %  +12 % (10 to 14)  worth it
//       < log     18.1 %  +0.1 % (-1 to 1)  no gain
//
// A function's row has the samples of all its paths. Where one of them has no caller, its figures
// stand in a row of its own.
//
// Shape    lines of text; functions and callers with the most samples first
// Units    columns of a terminal
// Errors   none: without call paths there is no text
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/units.md, "Call paths"
#ifndef COZ_REPORT_TEXT_PATH_TREE_H_
#define COZ_REPORT_TEXT_PATH_TREE_H_

#include <cstddef>
#include <map>
#include <string>

#include "coz/report/analysis/experiment_table.h"

namespace coz::report {

// What is known of a path.
struct PathFigures {
  std::string gain;
  std::string verdict;
};

// `figures`: by unit. Paths without have their samples alone.
std::string PathTreeText(const ExperimentTable& table, const std::map<size_t, PathFigures>& figures,
                         int width);

}  // namespace coz::report

#endif  // COZ_REPORT_TEXT_PATH_TREE_H_
