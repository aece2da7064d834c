// The table of threads: what `coz report --threads` and `coz threads` print.
//
// Shape    UTF-8 text: a row for each name, or for each thread where it is verbose; then a row for
//          each place that is counted, with a column for each name, as far as there is room
// Units    s since the start; shares in percent; visits
// Errors   none: a profile without threads gets a sentence
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/threads.md
#ifndef COZ_REPORT_TEXT_THREADS_TEXT_H_
#define COZ_REPORT_TEXT_THREADS_TEXT_H_

#include <string>

#include "coz/report/analysis/thread_table.h"
#include "coz/report/text/report_text.h"

namespace coz::report {

// Uses `width`, `max_lines` (rows of a table; 0: all) and `verbose`.
std::string RenderThreads(const ThreadTable& table, const TextOptions& options);

}  // namespace coz::report

#endif  // COZ_REPORT_TEXT_THREADS_TEXT_H_
