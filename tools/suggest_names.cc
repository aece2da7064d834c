#include "tools/suggest_names.h"

#include <cstdint>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "coz/points/closest_names.h"
#include "coz/report/wording/text_layout.h"

namespace coz {

std::string SuggestNames(const std::string& wanted, const std::vector<std::string>& names) {
  points::ClosestNames closest(wanted);
  for (const std::string& name : names) {
    const size_t colon = name.rfind(':');
    const int line = colon == std::string::npos ? 0 : atoi(name.c_str() + colon + 1);
    if (closest.wants_line() && line > 0) {
      closest.AddLine(name.substr(0, colon), static_cast<uint32_t>(line));
    } else {
      closest.Add(name);
    }
  }
  const std::vector<std::string> best = closest.Best();
  if (!best.empty()) return points::ClosestPhrase(best);
  return names.empty() ? ""
                       : absl::StrCat("; the first that is there is ",
                                      report::WithoutBuildFolder(names.front()));
}

}  // namespace coz
