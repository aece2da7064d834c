// The ranked lines of a profile that is still growing, for a screen that is drawn again and again.
//
// Shape    one text for each row of the screen, none wider than asked: the most visited point, the
//          names of the columns, its units, best first, then those that lack data
// Units    columns and rows of a terminal
// Errors   none
// Threads  safe
// Signals  not async-signal-safe
// Source   none
#ifndef COZ_REPORT_TEXT_LIVE_TABLE_H_
#define COZ_REPORT_TEXT_LIVE_TABLE_H_

#include <string>
#include <vector>

#include "coz/report/analysis/analyzed_profile.h"

namespace coz::report {

// "12 s, 20 experiments".
std::string RunSoFar(const AnalyzedProfile& whole);

std::vector<std::string> LiveTable(const AnalyzedProfile& whole, int rows, int columns);

}  // namespace coz::report

#endif  // COZ_REPORT_TEXT_LIVE_TABLE_H_
