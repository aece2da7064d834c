// A condition of `coz report --fail-if`: a figure of some units against a limit.
//
// Shape    FIGURE[.BOUND]([POINT,] UNITS) OP NUMBER[ %], such as `gain(server.cpp:12) > 10%` or
//          `slope(requests, decode.cc:*) >= 0.3`.
//          FIGURE  gain, as reports show it (headline.h); slope; or best: the program speedup at
//                  the place of the curve that is most certainly a gain (a loss, where it is one).
//          BOUND   low, high or value. Without it the bound that makes the condition certain: low
//                  for > and >=, high for < and <=.
//          POINT   name of a progress point; without it the most visited one. It may hold commas,
//                  as that of a pair does: it ends at the comma before which a name fits.
//          UNITS   names as the report shows them. Both are patterns (typed_name.h).
// Units    fractions; with a % sign percent
// Errors   Parse: INVALID_ARGUMENT. Find: NOT_FOUND where the condition fits no unit, or only units
//          without a figure; INVALID_ARGUMENT where points fit before several commas
// Threads  safe
// Signals  none
// Source   docs/fail-if.md
#ifndef COZ_REPORT_CONDITION_FAIL_CONDITION_H_
#define COZ_REPORT_CONDITION_FAIL_CONDITION_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/condition/limit.h"
#include "coz/report/wording/typed_name.h"

namespace coz::report {

class FailCondition {
 public:
  static absl::StatusOr<FailCondition> Parse(const std::string& text);

  // A sentence that names the first unit for which the condition holds; nullopt where it holds for
  // none.
  absl::StatusOr<std::optional<std::string>> Find(const ExperimentTable& table,
                                                  const Analysis& analysis,
                                                  const Suggest& suggest) const;

 private:
  enum class Figure { kGain, kSlope, kBest };
  enum class Bound { kValue, kLow, kHigh };

  double FigureOf(const LineAnalysis& line) const;
  // Of a small unit only the upper bound is known. What is not known is NaN, for which no condition
  // holds.
  double FigureOf(const LineSetAside& line) const;
  double BoundOf(const Estimate& e) const;
  // Where the names that were typed may be parted.
  struct Parted {
    std::string point;  // empty: the most visited
    std::string units;
  };

  absl::StatusOr<Parted> PartedFor(const ExperimentTable& table, const Analysis& analysis) const;
  absl::StatusOr<std::vector<const PointAnalysis*>> Points(const std::string& wanted,
                                                           const ExperimentTable& table,
                                                           const Analysis& analysis,
                                                           const Suggest& suggest) const;
  std::string UnitsAreLines(const std::string& units, const ExperimentTable& table) const;
  std::string Sentence(const UnitRow& unit, const PointRow& point, double figure) const;

  std::string text_;
  Figure figure_ = Figure::kSlope;
  Bound bound_ = Bound::kLow;
  std::vector<Parted> parted_;  // one for each comma outside of brackets; at least one
  Limit limit_;
};

}  // namespace coz::report

#endif  // COZ_REPORT_CONDITION_FAIL_CONDITION_H_
