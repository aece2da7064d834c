// A clock for each CPU that samples whichever profiled thread runs there when it expires. Unlike a
// clock of a thread, the kernel does not set it anew where it switches between threads.
//
// A clock is a perf event of a CPU. Profiled threads have events that count the clocks' expiries
// (coz/sampler/perf_event.h). So samples end when this process does, for whatever reason.
//
// Shape    Open, then Run; the destructor closes all
// Units    ns of real time
// Errors   Open: PERMISSION_DENIED or UNAVAILABLE, in one sentence with the next command
// Threads  compatible
// Signals  none
// Source   perf_event_open(2); tracefs: events/timer/hrtimer_expire_entry; /proc/kallsyms
#ifndef COZ_SUPERVISOR_TARGET_CPU_CLOCK_H_
#define COZ_SUPERVISOR_TARGET_CPU_CLOCK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coz/base/random.h"
#include "coz/base/unique_fd.h"
#include "coz/sampler/clock_expiry.h"

namespace coz::supervisor {

// As the files below `root` tell.
absl::StatusOr<sampler::ClockExpiry> FindClockExpiry(const std::string& root = "");

// A period near this one, for a fraction in [0, 1). With any fraction as likely as any other, there
// are as many of them in a second as of the whole period.
uint64_t ClockPeriodNear(uint64_t sampling_period_ns, double fraction);

class CpuClock {
 public:
  // Of all CPUs that are online; they stand still.
  static absl::StatusOr<std::unique_ptr<CpuClock>> Open(uint64_t sampling_period_ns);

  // For the processes that are profiled.
  const sampler::ClockExpiry& expiry() const { return expiry_; }
  void Run(bool on);

  // To be called as often as one likes. Gives each clock another period every tenth of a second.
  // With one that stays, a program whose rounds are as long has its samples in the same part of
  // each round: unlike a thread's clock this one does not stop where the program waits.
  void Vary(uint64_t now_ns);

 private:
  uint64_t sampling_period_ns_ = 0;
  uint64_t next_change_ns_ = 0;
  Random random_{0};
  sampler::ClockExpiry expiry_;
  std::vector<UniqueFd> clocks_;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_CPU_CLOCK_H_
