// What a CPU quota lets the target use, what it uses, and whether the quota stops it.
//
// Shape    figures of the last look, cumulative
// Units    ns, periods of the quota
// Errors   0 where there is no quota, or the kernel does not tell
// Threads  compatible
// Signals  none
// Source   coz/supervisor/target/cpu_quota.h; docs/design/statistics.md, "Below a CPU quota"
#ifndef COZ_SUPERVISOR_TARGET_QUOTA_WATCH_H_
#define COZ_SUPERVISOR_TARGET_QUOTA_WATCH_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "coz/experiment/target.h"
#include "coz/supervisor/target/cpu_quota.h"
#include "coz/supervisor/target/cpu_use.h"

namespace coz::supervisor {

class QuotaWatch {
 public:
  // `own_cpu_ns`: what this process has used, which the target would have had without it.
  explicit QuotaWatch(CpuQuota quota, std::function<uint64_t()> own_cpu_ns = OwnCpuNs)
      : quota_(std::move(quota)), own_cpu_ns_(std::move(own_cpu_ns)) {}

  const CpuQuota& quota() const { return quota_; }
  // Looks again.
  void Poll(uint64_t now_ns);
  const experiment::QuotaUse& use() const { return use_; }
  // Whether the quota was used up in a good part of its periods, a second ago.
  bool is_stopping() const { return is_stopping_; }

 private:
  const CpuQuota quota_;
  const std::function<uint64_t()> own_cpu_ns_;
  experiment::QuotaUse use_;
  experiment::QuotaUse judged_;  // what was known when is_stopping_ was set
  uint64_t judged_ns_ = 0;
  bool is_stopping_ = false;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_QUOTA_WATCH_H_
