// A condition of `coz diff --fail-if`: how much longer a visit of a progress point takes than
// before.
//
// Shape    time[.BOUND](POINT) OP NUMBER[ %], such as `time(requests) > 5%`
//          BOUND   low, high or value. Without it the bound that makes the condition certain: low
//                  for > and >=, high for < and <=.
//          POINT   name of a progress point, a pattern (typed_name.h)
// Units    the time after by the time before, minus 1: fractions; with a % sign percent
// Errors   Parse: INVALID_ARGUMENT. Find: NOT_FOUND where it fits no point, or only points without
//          a time in both profiles
// Threads  safe
// Signals  none
// Source   docs/fail-if.md
#ifndef COZ_REPORT_CONDITION_TIME_CONDITION_H_
#define COZ_REPORT_CONDITION_TIME_CONDITION_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "coz/report/compare/diff.h"
#include "coz/report/condition/limit.h"
#include "coz/report/wording/typed_name.h"

namespace coz::report {

class TimeCondition {
 public:
  static absl::StatusOr<TimeCondition> Parse(const std::string& text);

  // A sentence that names the first point for which the condition holds; nullopt where it holds for
  // none.
  absl::StatusOr<std::optional<std::string>> Find(const ProfileDiff& diff,
                                                  const Suggest& suggest) const;

 private:
  enum class Bound { kValue, kLow, kHigh };

  std::string Sentence(const PointDiff& point, double change) const;

  std::string text_;
  Bound bound_ = Bound::kLow;
  std::string point_;
  Limit limit_;
};

}  // namespace coz::report

#endif  // COZ_REPORT_CONDITION_TIME_CONDITION_H_
