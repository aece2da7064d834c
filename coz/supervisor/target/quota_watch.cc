#include "coz/supervisor/target/quota_watch.h"

#include <algorithm>

#include "coz/base/clock.h"

namespace coz::supervisor {
namespace {

constexpr uint64_t kJudgeNs = kNsPerSecond;
// Pauses that hold their CPUs use up the quota, too. So a target that is stopped now and then keeps
// its sleeping pauses.
constexpr double kGoodPart = 0.2;

}  // namespace

void QuotaWatch::Poll(uint64_t now_ns) {
  if (quota_.cpus() == 0) return;
  const CgroupUse use = quota_.Use();
  use_.throttled_ns = use.throttled_ns;
  use_.throttled_elsewhere_ns = quota_.ThrottledElsewhereNs();
  use_.periods = use.periods;
  use_.throttled_periods = use.throttled_periods;
  use_.used_ns = use.used_ns - (quota_.is_own() ? std::min(use.used_ns, own_cpu_ns_()) : 0);
  use_.allowed_ns = static_cast<uint64_t>(quota_.cpus() * static_cast<double>(now_ns));
  if (judged_ns_ != 0 && now_ns < judged_ns_ + kJudgeNs) return;
  is_stopping_ =
      judged_ns_ != 0 && static_cast<double>(use_.throttled_periods - judged_.throttled_periods) >
                             kGoodPart * static_cast<double>(use_.periods - judged_.periods);
  judged_ns_ = now_ns;
  judged_ = use_;
}

}  // namespace coz::supervisor
