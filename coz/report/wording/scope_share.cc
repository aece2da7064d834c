#include "coz/report/wording/scope_share.h"

#include <cstdint>

#include "absl/strings/str_format.h"

namespace coz::report {

std::string MostlyOutOfScope(const ExperimentTable& table) {
  const uint64_t outside = table.out_of_scope_samples + table.unmapped_samples;
  if (outside <= table.samples / 2) return "";
  return absl::StrFormat(
      "%.0f %% of the samples fell on no line in scope, neither themselves nor their callers, so "
      "nothing is known of most of the program's time",
      100 * static_cast<double>(outside) / static_cast<double>(table.samples));
}

}  // namespace coz::report
