// The end of a condition: what a figure is compared with, as in `> 10%`.
//
// Shape    one comparison and a number
// Units    a fraction; with a % sign percent
// Errors   ParseLimit: nullopt for what is no number
// Threads  compatible
// Signals  none
// Source   docs/fail-if.md
#ifndef COZ_REPORT_CONDITION_LIMIT_H_
#define COZ_REPORT_CONDITION_LIMIT_H_

#include <optional>
#include <string>

namespace coz::report {

struct Limit {
  std::string comparison;  // ">", ">=", "<" or "<="
  double value = 0;

  bool IsAbove() const { return comparison[0] == '>'; }
  // Never of NaN.
  bool Holds(double figure) const;
};

// `number` is like "0.3", "10%" or "10 %".
std::optional<Limit> ParseLimit(const std::string& comparison, const std::string& number);

}  // namespace coz::report

#endif  // COZ_REPORT_CONDITION_LIMIT_H_
