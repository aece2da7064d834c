// The tables of threads in the HTML report, as `coz report --threads` has them.
//
// Shape    a JSON object of cells that are text; null for a profile without threads
// Units    in the cells
// Errors   none
// Threads  safe
// Signals  not async-signal-safe
// Source   docs/threads.md
#ifndef COZ_REPORT_PLOT_THREAD_FACTS_H_
#define COZ_REPORT_PLOT_THREAD_FACTS_H_

#include "coz/report/format/profile.pb.h"
#include "nlohmann/json.hpp"

namespace coz::report {

// {rows: [[name, threads, samples, share, in scope, CPU time, start, end, note]…], more: rows that
// are not shown, names: [those of the columns behind `all`…],
// tables: [{head, rows: [[counter, all, …]…]}…]}
nlohmann::json ThreadFacts(const profile::Profile& profile);

}  // namespace coz::report

#endif  // COZ_REPORT_PLOT_THREAD_FACTS_H_
