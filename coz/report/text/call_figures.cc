#include "coz/report/text/call_figures.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace coz::report {

std::string Grouped(uint64_t n) {
  std::string text = absl::StrCat(n);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<size_t>(at), ",");
  }
  return text;
}

std::string ShareOf(uint64_t part, uint64_t whole) {
  if (whole == 0) return "";
  return absl::StrFormat("%.1f %%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string CallSeconds(uint64_t ns) {
  return absl::StrFormat("%.4g s", static_cast<double>(ns) / 1e9);
}

}  // namespace coz::report
