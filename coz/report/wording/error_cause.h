// What may be wrong with a line's figures beyond chance, in words: why, and what to do.
//
// Shape    clauses without a full stop, UTF-8
// Units    text in percent
// Errors   none
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   coz/report/analysis/systematic_error.h
#ifndef COZ_REPORT_WORDING_ERROR_CAUSE_H_
#define COZ_REPORT_WORDING_ERROR_CAUSE_H_

#include <string>

#include "coz/report/analysis/systematic_error.h"

namespace coz::report {

// "method", "achieved", "sampling", "clocks", "crowd", "beside", "owed", "pauses", "ends".
const char* ErrorCauseId(ErrorCause cause);

// "pauses made 268 % of the virtual speedups asked for"
std::string ErrorCauseText(ErrorCause cause, const ErrorFacts& facts);

// What to do about a doubt: "give the program fewer threads, or more CPUs". Empty: it is none.
const char* ErrorRemedy(ErrorCause cause, const ErrorFacts& facts);

// All doubts, each with what to do: "pauses made 268 % of …: profile again on an idle machine".
// Empty where there is none.
std::string DoubtsText(const SystematicError& error);

}  // namespace coz::report

#endif  // COZ_REPORT_WORDING_ERROR_CAUSE_H_
