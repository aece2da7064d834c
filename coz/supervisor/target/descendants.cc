#include "coz/supervisor/target/descendants.h"

#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "coz/attach/process_view.h"
#include "coz/base/names_in.h"

namespace coz::supervisor {
namespace {

// Numbers of all processes, by that of the parent.
std::multimap<pid_t, pid_t> ReadChildren() {
  std::multimap<pid_t, pid_t> children;
  for (const std::string& name : NamesIn("/proc")) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(name, &pid)) continue;
    const attach::StatusFields status = attach::ReadStatus(pid);
    if (status.empty()) continue;
    children.emplace(static_cast<pid_t>(attach::NumberIn(status, "PPid", 0)), pid);
  }
  return children;
}

}  // namespace

std::vector<pid_t> DescendantsOf(pid_t pid) {
  const std::multimap<pid_t, pid_t> children = ReadChildren();
  std::vector<pid_t> all = {pid};
  for (size_t i = 0; i < all.size(); ++i) {
    const auto [begin, end] = children.equal_range(all[i]);
    for (auto child = begin; child != end; ++child) all.push_back(child->second);
  }
  all.erase(all.begin());
  return all;
}

}  // namespace coz::supervisor
