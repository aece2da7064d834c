#include "coz/supervisor/target/idle_halts.h"

#include <algorithm>
#include <fstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "coz/base/file_text.h"

namespace coz::supervisor {

bool IsVirtual(absl::string_view cpuinfo) {
  // CPUs are alike: the first one tells.
  for (absl::string_view line : absl::StrSplit(cpuinfo, '\n')) {
    if (!absl::StartsWith(line, "flags")) continue;
    const std::vector<absl::string_view> flags = absl::StrSplit(line, ' ');
    return std::find(flags.begin(), flags.end(), "hypervisor") != flags.end();
  }
  return false;
}

IdleMachine LookAtIdleMachine(const std::string& root) {
  return {IsVirtual(FileText(root + "/proc/cpuinfo")), IdleDriver(root)};
}

std::string IdleDriver(const std::string& root) {
  std::ifstream file(root + "/sys/devices/system/cpu/cpuidle/current_driver");
  std::string driver;
  std::getline(file, driver);
  return driver;
}

}  // namespace coz::supervisor
