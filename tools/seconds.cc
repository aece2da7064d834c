#include "tools/seconds.h"

#include <string>

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

}  // namespace coz
