// Figures of threads and their calls, as the tables of both print them.
//
// Shape    short texts
// Units    as said
// Errors   none
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   none
#ifndef COZ_REPORT_TEXT_CALL_FIGURES_H_
#define COZ_REPORT_TEXT_CALL_FIGURES_H_

#include <cstdint>
#include <string>

namespace coz::report {

// "12,345".
std::string Grouped(uint64_t n);

// "1.2 %"; empty where there is no whole.
std::string ShareOf(uint64_t part, uint64_t whole);

// In seconds: "0.0001234 s".
std::string CallSeconds(uint64_t ns);

}  // namespace coz::report

#endif  // COZ_REPORT_TEXT_CALL_FIGURES_H_
