#include "coz/report/condition/limit.h"

#include <cmath>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace coz::report {

bool Limit::Holds(double figure) const {
  if (comparison == ">") return figure > value;
  if (comparison == ">=") return figure >= value;
  if (comparison == "<") return figure < value;
  return figure <= value;
}

std::optional<Limit> ParseLimit(const std::string& comparison, const std::string& number) {
  Limit limit;
  limit.comparison = comparison;
  char* end = nullptr;
  limit.value = strtod(number.c_str(), &end);
  const absl::string_view behind = absl::StripLeadingAsciiWhitespace(end);
  const bool percent = behind == "%";
  if (end == number.c_str() || (!behind.empty() && !percent) || !std::isfinite(limit.value)) {
    return std::nullopt;
  }
  if (percent) limit.value /= 100;
  return limit;
}

}  // namespace coz::report
