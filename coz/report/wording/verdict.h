// The verdict on a line as one plain sentence, and how much longer to run where it cannot be told
// yet.
//
// Shape    one sentence without a full stop inside it, UTF-8; names of progress points stand
//          between ` and are Printable
// Units    text in percent and seconds; RemainingNs in ns of profiled run time
// Errors   none
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/interpreting.md
#ifndef COZ_REPORT_WORDING_VERDICT_H_
#define COZ_REPORT_WORDING_VERDICT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/statistics/statistics.h"

namespace coz::report {

struct VerdictContext {
  AnalysisOptions options;
  uint64_t run_time_ns = 0;                   // of the whole profile
  const profile::Profile* profile = nullptr;  // whose command sentences name; null: `coz run`
};

// "worth it", "hurts", "no gain" or "not yet known": the words of docs/glossary.md, in all outputs.
absl::string_view VerdictWord(Verdict verdict);
// The same, with a question mark where the run went wrong: "worth it?".
std::string VerdictWord(const LineAnalysis& line);

// "making this 30 % faster speeds `requests` up by 12 % (9 to 15); nothing more beyond 60 %".
// Where the run went wrong: "…; not sure: " and why, and what to do.
std::string VerdictSentence(const LineAnalysis& line, const PointRow& point,
                            const VerdictContext& context);
std::string SetAsideSentence(const LineSetAside& line, const PointRow& point,
                             const VerdictContext& context);

// How much longer to run until slope and quoted gain exclude 0, or the slope lies within what
// counts as no gain. Assumes that what chance makes of it shrinks with the root of the number of
// experiments, and that what is systematic stays. nullopt: unknown, told already, or no time is
// enough.
std::optional<uint64_t> RemainingNs(const LineAnalysis& line, const VerdictContext& context);
std::optional<uint64_t> RemainingNs(const LineSetAside& line, const VerdictContext& context);

}  // namespace coz::report

#endif  // COZ_REPORT_WORDING_VERDICT_H_
