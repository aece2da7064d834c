// What `coz run` and `coz demo` say at the end.
#ifndef COZ_TOOLS_REPORT_OUTPUT_H_
#define COZ_TOOLS_REPORT_OUTPUT_H_

#include <cstdio>

#include "coz/supervisor/run/run_profile.h"

namespace coz {

// The head of the report and the next command to type; or, where nothing was measured, why and what
// to do. What went wrong with the profile itself goes to standard error.
void PrintRunSummary(const supervisor::RunResult& result, FILE* output);

}  // namespace coz

#endif  // COZ_TOOLS_REPORT_OUTPUT_H_
