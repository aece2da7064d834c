// The conditions of `coz report --fail-if`: a figure of some lines against a limit.
//
// Shape    FIGURE[.BOUND]([POINT,] UNITS) OP NUMBER[%], such as `slope(server.cpp:12) > 0.3` or `best(requests, decode.cc:*) >= 10%`.
//          FIGURE  slope; best: the best prediction's program speedup. BOUND  low, high, value; without it the bound that makes the
//          condition certain: low for > and >=, high for < and <=. POINT  a progress point's name, with * as wildcard; without it
//          the most visited one. UNITS  names as the report shows them, * is a wildcard, leading folders may be left out.
// Units    fractions; with a % sign percent
// Errors   Parse: INVALID_ARGUMENT. Find: NOT_FOUND where nothing is selected, or no selected unit has a figure
// Threads  safe
// Signals  none
// Source   issue 5, item 2
#ifndef COZ_REPORT_CONDITION_FAIL_CONDITION_H_
#define COZ_REPORT_CONDITION_FAIL_CONDITION_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"

namespace coz::report {

// What a user may have meant, as the end of a sentence, such as ", the closest are a and b".
using Suggest =
    std::function<std::string(const std::string& wanted, const std::vector<std::string>& names)>;

class Selector {
 public:
  static absl::StatusOr<Selector> Parse(const std::string& text);

  // A sentence that names the first line for which the condition holds; nullopt where it holds for none.
  absl::StatusOr<std::optional<std::string>> Find(const ExperimentTable& table,
                                                  const Analysis& analysis,
                                                  const Suggest& suggest) const;

 private:
  enum class Figure { kSlope, kBest };
  enum class Bound { kValue, kLow, kHigh };

  double FigureOf(const LineAnalysis& line) const;
  bool Holds(double figure) const;
  absl::StatusOr<std::vector<const PointAnalysis*>> Points(const ExperimentTable& table,
                                                           const Analysis& analysis,
                                                           const Suggest& suggest) const;
  std::string Sentence(const UnitRow& unit, const PointRow& point, double figure) const;

  std::string text_;
  Figure figure_ = Figure::kSlope;
  Bound bound_ = Bound::kLow;
  std::string point_;  // empty: the most visited
  std::string units_;
  std::string comparison_;
  double limit_ = 0;
};

// '*' stands for any characters; `name` may have folders, or namespaces, before what the pattern names.
bool MatchesName(const std::string& pattern, const std::string& name);

}  // namespace coz::report

#endif  // COZ_REPORT_CONDITION_FAIL_CONDITION_H_
