// Whether a prediction came true: after a line was made faster, compares the program with what was
// predicted.
//
// Shape    one line, one progress point, two profiles; a Verification for each point that both have
// Units    fractions
// Errors   NOT_FOUND when the first profile has no figures for the line (the message names the
//          closest lines). FAILED_PRECONDITION when a figure is missing, with what would give it,
//          when no line is named and none became faster or slower, or when the profiles are of
//          different units or programs, or nothing was measured in one
// Threads  safe
// Signals  not async-signal-safe
// Source   docs/compare.md
#ifndef COZ_REPORT_COMPARE_VERIFY_H_
#define COZ_REPORT_COMPARE_VERIFY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coz/report/analysis/analyzed_profile.h"
#include "nlohmann/json_fwd.hpp"

namespace coz::report {

struct VerifyOptions {
  // "file:line", or a function's, file's, library's or group's name, as in the first profile. In
  // the second one it may have moved (unit_match.h). Empty: the line with a prediction whose CPU
  // time for each visit fell most; where none fell, the one whose time rose most.
  std::string line;
  // By how much the line was sped up; without it, taken from its CPU time per visit in both
  // profiles.
  std::optional<double> speedup;
};

// kTooHigh: less came than was predicted. kUntested: the line did not become faster, as far as its
// samples tell, so that there is nothing to hold a prediction against. kUnclear: the runs differ so
// much that what was predicted may have come, or nothing may have come, or other programs may have
// made the difference.
enum class Outcome { kHeld, kTooHigh, kTooLow, kUntested, kUnclear };

struct Verification {
  std::string point;
  std::string line;        // as in the first profile, with its whole path
  std::string line_after;  // as in the second one; empty: it is not known there
  std::string shown;  // as the report shows it, with its line in the second one if that differs
  std::string unit_word = "line";
  Estimate line_speedup;     // of the line itself; no interval where it was given
  double largest_tried = 0;  // speedup of the line in the first profile's experiments
  Estimate predicted;        // program speedup; NaN of a line that became slower
  // The samples alone tell that it is between 0 and predicted.high.
  bool is_limit = false;
  Estimate happened;  // program speedup
  Outcome outcome = Outcome::kHeld;
  // "first" or "second": of kUnclear, the run from which other programs took CPU time, much more
  // than from the other one; else empty.
  std::string disturbed_run;
  double error = 0;  // predicted - happened
  // A sentence where other programs took CPU time from the program, so that what happened may be
  // their doing; else empty.
  std::string note;
};

absl::StatusOr<std::vector<Verification>> Verify(const AnalyzedProfile& before,
                                                 const AnalyzedProfile& after,
                                                 const VerifyOptions& options);

// Whether it says anything of the prediction, so that it belongs into a history.
inline bool IsOutcome(Outcome outcome) {
  return outcome != Outcome::kUntested && outcome != Outcome::kUnclear;
}

const char* OutcomeId(Outcome outcome);  // "held", "too_high", "too_low", "untested", "unclear"

std::string VerificationText(const Verification& verification);
nlohmann::ordered_json VerificationJson(const Verification& verification);

}  // namespace coz::report

#endif  // COZ_REPORT_COMPARE_VERIFY_H_
