// How many CPUs the cgroups of a process let it use, and for how long they have stopped it for
// that.
//
// Shape    the cgroup and those around it, up to where this process can see; of cgroup v2 (cpu.max)
//          and of v1 (cpu.cfs_quota_us)
// Units    CPUs; ns, summed over CPUs and cumulative
// Errors   none: 0 where there is no quota, or nothing can be read
// Threads  compatible
// Signals  none
// Source   Documentation/admin-guide/cgroup-v2.rst and Documentation/scheduler/sched-bwc.rst of the
//          kernel; proc(5), mountinfo
#ifndef COZ_SUPERVISOR_TARGET_CPU_QUOTA_H_
#define COZ_SUPERVISOR_TARGET_CPU_QUOTA_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace coz::supervisor {

// The folders of a process's cgroup, innermost first, from its /proc/PID/cgroup and mountinfo.
std::vector<std::string> CgroupFolders(absl::string_view cgroup, absl::string_view mountinfo);

// CPUs, by the text of cpu.max; 0: no quota.
double QuotaOfCpuMax(absl::string_view cpu_max);
// The same by those of cpu.cfs_quota_us and cpu.cfs_period_us.
double QuotaOfCfs(absl::string_view quota_us, absl::string_view period_us);

// Cumulative.
struct CgroupUse {
  uint64_t throttled_ns = 0;  // summed over CPUs
  // Of the quota's periods in which somebody wanted to run: all, and those in which it was used up.
  uint64_t periods = 0;
  uint64_t throttled_periods = 0;
  uint64_t used_ns = 0;  // CPU time of all in the cgroup; 0: unknown
};

// By the text of cpu.stat of either version. Only that of v2 tells the CPU time.
CgroupUse UseByCpuStat(absl::string_view cpu_stat);

// The quotas that hold for a process when the object is made. Where there is none, nothing is read
// later on; the kernel makes cpu.stat at some cost.
class CpuQuota {
 public:
  // `pid`: 0 for this process, whose cgroup its children inherit. `root`: what stands for "/", in
  // tests.
  explicit CpuQuota(pid_t pid = 0, const std::string& root = "");

  // The least of all quotas; 0: none.
  double cpus() const { return cpus_; }
  // Whether it is this process's quota, too.
  bool is_own() const { return is_own_; }
  // Of the cgroup with that quota.
  CgroupUse Use() const;
  // Of those around it whose quota is not the least.
  uint64_t ThrottledElsewhereNs() const;

 private:
  double cpus_ = 0;
  bool is_own_ = false;
  std::vector<std::string> folders_;  // with a quota
  std::string least_;                 // the one with the least
  std::string usage_;                 // of v1: the file with the CPU time of that cgroup
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_CPU_QUOTA_H_
