#include "coz/testing/quota_cgroup.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace coz::testing {
namespace {

constexpr int kPeriodUs = 100000;

bool PutOwnProcess(const std::string& folder) {
  std::ofstream out(folder + "/cgroup.procs");
  out << getpid() << std::flush;
  return out.good();
}

}  // namespace

QuotaCgroup::QuotaCgroup(double cpus) {
  const std::string name = absl::StrCat("/coz_quota_", getpid());
  const std::string quota_us = std::to_string(static_cast<int>(cpus * kPeriodUs));
  missing_ = Make("/sys/fs/cgroup/cpu" + name, "cpu.cfs_quota_us", quota_us);
  if (missing_.empty()) {
    if (access(("/sys/fs/cgroup/cpuacct" + name).c_str(), F_OK) != 0) {
      missing_ = Make("/sys/fs/cgroup/cpuacct" + name, "", "");
    }
    return;
  }
  missing_ = Make("/sys/fs/cgroup" + name, "cpu.max", absl::StrCat(quota_us, " ", kPeriodUs));
}

QuotaCgroup::~QuotaCgroup() {
  for (const std::string& folder : folders_) {
    if (rmdir(folder.c_str()) == 0) continue;
    PutOwnProcess(folder.substr(0, folder.rfind('/')));
    rmdir(folder.c_str());
  }
}

std::vector<std::string> QuotaCgroup::With(std::vector<std::string> command) const {
  std::vector<std::string> all = {
      "/bin/sh", "-c", "for f in $0; do echo $$ > $f/cgroup.procs || exit 125; done; exec \"$@\"",
      ""};
  for (const std::string& folder : folders_) absl::StrAppend(&all.back(), folder, " ");
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

bool QuotaCgroup::Enter() {
  return missing_.empty() && std::all_of(folders_.begin(), folders_.end(), PutOwnProcess);
}

std::string QuotaCgroup::Make(const std::string& folder, const std::string& file,
                              const std::string& quota) {
  const std::string required = absl::StrCat("required: to make ", folder, " with ", file);
  if (mkdir(folder.c_str(), 0755) != 0) {
    return absl::StrCat(required, "; actual: ", strerror(errno));
  }
  folders_.push_back(folder);
  if (file.empty()) return "";
  std::ofstream out(folder + "/" + file);
  out << quota << std::flush;
  if (out.good()) return "";
  rmdir(folder.c_str());
  folders_.pop_back();
  return absl::StrCat(required, "; actual: no such file, or it is not for us to write");
}

}  // namespace coz::testing
