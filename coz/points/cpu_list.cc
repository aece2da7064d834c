#include "coz/points/cpu_list.h"

#include <unistd.h>

#include <fstream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace coz::points {
namespace {

// More than any kernel is built for.
constexpr int kMostCpus = 1 << 16;

}  // namespace

std::vector<int> ParseCpuList(absl::string_view text) {
  std::vector<int> cpus;
  for (const absl::string_view range : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(range, absl::MaxSplits('-', 1));
    int first = 0;
    int last = 0;
    if (!absl::SimpleAtoi(ends.first, &first)) return {};
    last = first;
    if (!ends.second.empty() && !absl::SimpleAtoi(ends.second, &last)) return {};
    const bool ascending = cpus.empty() || first > cpus.back();
    if (first < 0 || !ascending || last < first || last >= kMostCpus) return {};
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<int> PossibleCpus() {
  std::string text;
  std::getline(std::ifstream("/sys/devices/system/cpu/possible"), text);
  std::vector<int> cpus = ParseCpuList(text);
  if (!cpus.empty()) return cpus;
  for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); ++cpu) cpus.push_back(cpu);
  return cpus;
}

}  // namespace coz::points
