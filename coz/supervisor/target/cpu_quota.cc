#include "coz/supervisor/target/cpu_quota.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "coz/base/clock.h"
#include "coz/base/file_text.h"

namespace coz::supervisor {
namespace {

bool Lists(absl::string_view comma_separated, absl::string_view word) {
  const std::vector<absl::string_view> words = absl::StrSplit(comma_separated, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Of the hierarchy that rules CPU time: "" in v2, "cpu" in v1. Lines are "ID:CONTROLLERS:PATH".
absl::string_view PathIn(absl::string_view cgroup, absl::string_view controller) {
  for (absl::string_view line : absl::StrSplit(cgroup, '\n')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() == 3 && Lists(parts[1], controller)) return parts[2];
  }
  return "";
}

struct Mount {
  absl::string_view root;  // the cgroup that is mounted
  absl::string_view folder;
};

Mount FindMount(absl::string_view mountinfo, absl::string_view controller) {
  for (absl::string_view line : absl::StrSplit(mountinfo, '\n')) {
    const std::pair<absl::string_view, absl::string_view> sides =
        absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    const std::vector<absl::string_view> mount = absl::StrSplit(sides.first, ' ');
    const std::vector<absl::string_view> what = absl::StrSplit(sides.second, ' ');
    if (mount.size() < 5 || what.size() < 3) continue;
    const bool fits = controller.empty() ? what[0] == "cgroup2"
                                         : what[0] == "cgroup" && Lists(what[2], controller);
    if (fits) return {mount[3], mount[4]};
  }
  return {};
}

void AddFolders(absl::string_view path, const Mount& mount, std::vector<std::string>* folders) {
  if (path.empty() || path.front() != '/' || mount.folder.empty()) return;
  // A container sees its own cgroup as the root of the mount, whatever path the host knows.
  absl::string_view below = path;
  if (mount.root != "/") {
    const bool inside = absl::ConsumePrefix(&below, mount.root);
    if (!inside || (!below.empty() && below.front() != '/')) below = "";
  }
  if (below == "/" || absl::StartsWith(below, "/..")) below = "";
  for (;;) {
    folders->push_back(absl::StrCat(mount.folder, below));
    if (below.empty()) return;
    below = below.substr(0, below.rfind('/'));
  }
}

// The number behind "NAME " at the start of a line, or 0.
uint64_t ValueOf(absl::string_view text, absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    uint64_t value = 0;
    if (absl::ConsumePrefix(&line, name) && absl::StartsWith(line, " ") &&
        absl::SimpleAtoi(line, &value)) {
      return value;
    }
  }
  return 0;
}

double QuotaOfFolder(const std::string& folder) {
  const double quota = QuotaOfCpuMax(FileText(folder + "/cpu.max"));
  return quota > 0 ? quota
                   : QuotaOfCfs(FileText(folder + "/cpu.cfs_quota_us"),
                                FileText(folder + "/cpu.cfs_period_us"));
}

// Of v1, whose hierarchies for CPU time and for its use may be two, and their cgroups others. It is
// known where the process is in those of the same name. `folder`: of CgroupFolders.
std::string UsageFile(absl::string_view cgroup, absl::string_view mountinfo,
                      absl::string_view folder) {
  absl::string_view below = folder;
  const Mount use = FindMount(mountinfo, "cpuacct");
  const bool is_named_alike = PathIn(cgroup, "cpu") == PathIn(cgroup, "cpuacct") &&
                              absl::ConsumePrefix(&below, FindMount(mountinfo, "cpu").folder);
  return is_named_alike ? absl::StrCat(use.folder, below, "/cpuacct.usage") : "";
}

}  // namespace

std::vector<std::string> CgroupFolders(absl::string_view cgroup, absl::string_view mountinfo) {
  std::vector<std::string> folders;
  for (const absl::string_view controller : {"", "cpu"}) {
    AddFolders(PathIn(cgroup, controller), FindMount(mountinfo, controller), &folders);
  }
  return folders;
}

double QuotaOfCpuMax(absl::string_view cpu_max) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(cpu_max, absl::MaxSplits(' ', 1));
  return QuotaOfCfs(parts.first, parts.second);
}

double QuotaOfCfs(absl::string_view quota_us, absl::string_view period_us) {
  int64_t quota = 0;
  int64_t period = 0;
  // Without a quota the first is "max" in v2 and -1 in v1.
  if (!absl::SimpleAtoi(quota_us, &quota) || !absl::SimpleAtoi(period_us, &period)) return 0;
  if (quota <= 0 || period <= 0) return 0;
  return static_cast<double>(quota) / static_cast<double>(period);
}

CgroupUse UseByCpuStat(absl::string_view cpu_stat) {
  CgroupUse use;
  use.throttled_ns =
      ValueOf(cpu_stat, "throttled_usec") * kNsPerUs + ValueOf(cpu_stat, "throttled_time");
  use.periods = ValueOf(cpu_stat, "nr_periods");
  use.throttled_periods = ValueOf(cpu_stat, "nr_throttled");
  use.used_ns = ValueOf(cpu_stat, "usage_usec") * kNsPerUs;
  return use;
}

CpuQuota::CpuQuota(pid_t pid, const std::string& root) {
  const std::string own_cgroup = FileText(root + "/proc/self/cgroup");
  const std::string cgroup =
      pid == 0 ? own_cgroup : FileText(absl::StrCat(root, "/proc/", pid, "/cgroup"));
  const std::string mountinfo = FileText(root + "/proc/self/mountinfo");
  std::string least;
  for (const std::string& folder : CgroupFolders(cgroup, mountinfo)) {
    const double quota = QuotaOfFolder(root + folder);
    if (quota == 0) continue;
    folders_.push_back(root + folder);
    if (cpus_ != 0 && quota >= cpus_) continue;
    cpus_ = quota;
    least = folder;
  }
  if (least.empty()) return;
  const std::vector<std::string> own_folders = CgroupFolders(own_cgroup, mountinfo);
  is_own_ = std::find(own_folders.begin(), own_folders.end(), least) != own_folders.end();
  least_ = root + least;
  usage_ = root + UsageFile(cgroup, mountinfo, least);
}

CgroupUse CpuQuota::Use() const {
  if (least_.empty()) return {};
  CgroupUse use = UseByCpuStat(FileText(least_ + "/cpu.stat"));
  uint64_t usage_ns = 0;
  if (use.used_ns == 0 && absl::SimpleAtoi(FileText(usage_), &usage_ns)) use.used_ns = usage_ns;
  return use;
}

uint64_t CpuQuota::ThrottledElsewhereNs() const {
  uint64_t sum_ns = 0;
  for (const std::string& folder : folders_) {
    if (folder != least_) sum_ns += UseByCpuStat(FileText(folder + "/cpu.stat")).throttled_ns;
  }
  return sum_ns;
}

}  // namespace coz::supervisor
