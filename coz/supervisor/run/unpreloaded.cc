#include "coz/supervisor/run/unpreloaded.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_format.h"
#include "coz/base/file_text.h"
#include "coz/supervisor/target/descendants.h"
#include "coz/supervisor/target/tree_members.h"

namespace coz::supervisor {
namespace {

// A program with no variable at all is told by its file from one that has ended.
bool IsUnpreloaded(const shared::ControlBlock& control, pid_t pid) {
  if (HasMapped(control, pid)) return false;
  const std::string folder = absl::StrFormat("/proc/%d/", pid);
  if (FileText(folder + "environ").find("libcoz.so") != std::string::npos) return false;
  std::error_code error;
  (void)std::filesystem::read_symlink(folder + "exe", error);
  return !error;
}

}  // namespace

std::string UnpreloadedProgram::Text() const {
  return absl::StrFormat(
      "process %d (%s) was started without LD_PRELOAD, and is not profiled; put coz behind what "
      "clears the environment, as in `env -i … coz run --- …`, or attach to it while it runs: coz "
      "attach %d",
      pid, name, pid);
}

UnpreloadedProgram FindUnpreloaded(const shared::ControlBlock& control, pid_t first) {
  std::vector<pid_t> all = DescendantsOf(first);
  all.insert(all.begin(), first);
  for (const pid_t pid : all) {
    if (!IsUnpreloaded(control, pid)) continue;
    const std::string name = FileText(absl::StrFormat("/proc/%d/comm", pid));
    if (!name.empty()) return {pid, name.substr(0, name.find('\n'))};
  }
  return {};
}

}  // namespace coz::supervisor
