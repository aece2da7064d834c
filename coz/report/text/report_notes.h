// What the reader of a report has to know to judge its figures: cut files, fallbacks, tainted
// experiments, a crowded machine.
//
// Shape    one sentence each, without a full stop, most basic first
// Units    in the sentences
// Errors   none
// Threads  safe: a pure function
// Signals  not async-signal-safe
// Source   docs/interpreting.md
#ifndef COZ_REPORT_TEXT_REPORT_NOTES_H_
#define COZ_REPORT_TEXT_REPORT_NOTES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/format/profile_reader.h"

namespace coz::report {

std::vector<std::string> ReportNotes(const profile::Profile& profile, const ExperimentTable& table,
                                     const Analysis& analysis, const ReadStats& stats);

// How much of the program's time the kernel's counting of visits takes: a sentence; empty where it
// hardly matters.
std::string CostOfCounting(const PointRow& point, uint64_t run_time_ns);

// That the CPU runs code beside the point's breakpoint slowly: a sentence without a full stop;
// empty where it hardly does.
std::string SlowdownBesideBreakpoint(const PointRow& point);

// From when to when a point was there that was added or removed, and what that leaves out: a
// sentence without a full stop; empty for one that was there all the time.
std::string WhenThere(const PointRow& row, const PointAnalysis& point);

// How much of the time of a visit sampling takes: a sentence without a full stop; empty where it
// hardly matters, or is not known.
std::string CostOfSampling(const PointAnalysis& point);

}  // namespace coz::report

#endif  // COZ_REPORT_TEXT_REPORT_NOTES_H_
