#include "tools/seconds.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"

namespace coz {

CLI::Validator TimesWithUnits() {
  return CLI::Validator(
      [](std::string& value) {
        absl::Duration time;
        if (absl::ParseDuration(value, &time)) {
          value = absl::StrFormat("%.9g", absl::ToDoubleSeconds(time));
        }
        return std::string();
      },
      "");
}

CLI::Validator NumberIn(const CLI::Range& range) {
  return CLI::Validator(
      [range](std::string& value) {
        double number = 0;
        const bool is_nan = absl::SimpleAtod(value, &number) && std::isnan(number);
        return is_nan ? absl::StrCat(value, " is not a number") : range(value);
      },
      range.get_description());
}

CLI::Validator WholeNumber() {
  return CLI::Validator(
      [](std::string& value) {
        uint64_t number = 0;
        if (absl::SimpleAtoi(value, &number)) return std::string();
        return absl::StrFormat("%s is not a number from 0 to %d", value,
                               std::numeric_limits<uint64_t>::max());
      },
      "");
}

}  // namespace coz
