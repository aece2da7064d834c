// Writes a profile for speedscope: flame graphs of CPU time, and of what speeding lines up would
// bring.
//
// Shape    one JSON object: a list of frames, and a "sampled" profile for CPU time and for each
//          progress point; each stack is file, function, line
// Units    CPU time in ns; program speedup in thousandths for a line speedup of 1. Positive and
//          decided lines only: a width can show nothing else
// Errors   none
// Threads  safe
// Signals  not async-signal-safe
// Source   speedscope's file format, as its documentation describes it; docs/export.md
#ifndef COZ_REPORT_EXCHANGE_EXPORT_SPEEDSCOPE_H_
#define COZ_REPORT_EXCHANGE_EXPORT_SPEEDSCOPE_H_

#include <ostream>

#include "coz/report/analysis/analyzed_profile.h"

namespace coz::report {

void ExportSpeedscope(const AnalyzedProfile& whole, std::ostream& out);

}  // namespace coz::report

#endif  // COZ_REPORT_EXCHANGE_EXPORT_SPEEDSCOPE_H_
