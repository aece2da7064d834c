// What makes a comparison of two profiles less sure than its figures look: damaged files, profiles
// of several builds or without figures, the same build twice, different CPUs, other programs.
//
// Shape    sentences without a full stop, most basic first; none where nothing is known. UTF-8
// Units    in the sentences
// Errors   none
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/compare.md
#ifndef COZ_REPORT_COMPARE_CAVEATS_H_
#define COZ_REPORT_COMPARE_CAVEATS_H_

#include <string>
#include <vector>

#include "coz/report/analysis/analyzed_profile.h"

namespace coz::report {

// All but what NoteOnOthers says.
std::vector<std::string> Caveats(const AnalyzedProfile& before, const AnalyzedProfile& after);

// That both profiles are of one build of the program; "" where they are not, or it is not known.
std::string WhichBuildBothAreOf(const AnalyzedProfile& before, const AnalyzedProfile& after);

// That other programs took CPU time from the program, and how to profile again without; "" where
// they were no hindrance.
std::string NoteOnOthers(const AnalyzedProfile& before, const AnalyzedProfile& after);

}  // namespace coz::report

#endif  // COZ_REPORT_COMPARE_CAVEATS_H_
