#include "coz/supervisor/target/source_choice.h"

#include <fcntl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "coz/base/clock.h"
#include "coz/base/unique_fd.h"
#include "coz/shared/slot_loops.h"

namespace coz::supervisor {
namespace {

constexpr size_t kMostThreads = 256;
constexpr uint64_t kLookNs = 200 * kNsPerMs;
constexpr int kLooks = 2;
// The measured cost of a switch is a lower bound: PostgreSQL lost 38 % of its rate where this was
// 18 %.
constexpr double kDearShare = 0.05;
// More than any switch was seen to cost (40 us). It tells whether measuring is worth while.
constexpr uint64_t kMostCostNs = 100 * kNsPerUs;

}  // namespace

std::optional<SwitchMeter::Seen> SwitchMeter::Look(pid_t pid, pid_t tid) {
  const std::string path = absl::StrFormat("/proc/%d/task/%d/schedstat", pid, tid);
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[128];
  const ssize_t length = fd.ok() ? read(fd.get(), text, sizeof(text) - 1) : -1;
  if (length <= 0) return std::nullopt;
  text[length] = '\0';
  Seen seen;
  uint64_t waited_ns = 0;
  if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &seen.cpu_ns, &waited_ns, &seen.switches) !=
      3) {
    return std::nullopt;
  }
  return seen;
}

std::optional<SwitchRates> SwitchMeter::Read(uint64_t now_ns) {
  absl::flat_hash_map<pid_t, Seen> now;
  Seen sum;
  shared::ForEachRunningThread(control_, [&](const shared::ThreadSlot& slot) {
    const std::optional<Seen> seen = Look(slot.pid, slot.tid);
    if (!seen.has_value()) return true;
    now[slot.tid] = *seen;
    // A new thread counts from its start. One that has taken over a number counts from now on.
    const auto found = seen_.find(slot.tid);
    const Seen before = found == seen_.end() ? Seen() : found->second;
    if (before.switches <= seen->switches && before.cpu_ns <= seen->cpu_ns) {
      sum.switches += seen->switches - before.switches;
      sum.cpu_ns += seen->cpu_ns - before.cpu_ns;
    }
    return now.size() < kMostThreads;
  });
  const uint64_t elapsed_ns = now_ns - std::exchange(read_ns_, now_ns);
  const bool is_first = elapsed_ns == now_ns;
  seen_ = std::move(now);
  if (is_first || elapsed_ns == 0) return std::nullopt;
  const double seconds = static_cast<double>(elapsed_ns) / static_cast<double>(kNsPerSecond);
  return SwitchRates{static_cast<double>(sum.switches) / seconds,
                     static_cast<double>(sum.cpu_ns) / seconds};
}

bool IsTooDear(const SwitchRates& rates, uint64_t switch_cost_ns) {
  const double cost_ns = rates.switches_per_second * static_cast<double>(switch_cost_ns);
  return cost_ns > kDearShare * rates.cpu_ns_per_second &&
         cost_ns > kDearShare * static_cast<double>(kNsPerSecond);
}

std::optional<SourceChoice::Finding> SourceChoice::Poll(uint64_t now_ns) {
  if (has_found_ || now_ns < next_look_ns_) return std::nullopt;
  next_look_ns_ = now_ns + kLookNs;
  const std::optional<SwitchRates> rates = meter_.Read(now_ns);
  if (!rates.has_value()) return std::nullopt;
  if (!cost_ns_.has_value() && IsTooDear(*rates, kMostCostNs)) cost_ns_ = measure_cost_();
  dear_looks_ = IsTooDear(*rates, cost_ns_.value_or(0)) ? dear_looks_ + 1 : 0;
  if (dear_looks_ < kLooks) return std::nullopt;
  has_found_ = true;
  return Finding{*rates, *cost_ns_};
}

}  // namespace coz::supervisor
