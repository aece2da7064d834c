// Whether two profiles can be held beside each other at all.
//
// Shape    a sentence without a full stop; "" where they can, as far as they tell. UTF-8
// Units    none
// Errors   none
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/compare.md
#ifndef COZ_REPORT_COMPARE_COMPARABLE_H_
#define COZ_REPORT_COMPARE_COMPARABLE_H_

#include <string>

#include "coz/report/analysis/analyzed_profile.h"

namespace coz::report {

// "the profiles have no progress point in common; they are of `a` and of `b`".
std::string WhyNoPointInCommon(const AnalyzedProfile& before, const AnalyzedProfile& after);

// Whether one is of lines and the other of functions, for example.
bool AreOfDifferentUnits(const AnalyzedProfile& before, const AnalyzedProfile& after);

// "the first profile is of lines and the second of functions, so ...", or that they share no
// function and no file.
std::string WhyNoUnitInCommon(const AnalyzedProfile& before, const AnalyzedProfile& after);

}  // namespace coz::report

#endif  // COZ_REPORT_COMPARE_COMPARABLE_H_
