#include "coz/supervisor/target/source_choice.h"

#include <utility>

#include "coz/base/clock.h"

namespace coz::supervisor {
namespace {

constexpr uint64_t kLookNs = 200 * kNsPerMs;
constexpr int kLooks = 2;
// The measured cost of a switch is a lower bound, as events slow the code behind the switch, too.
// PostgreSQL lost 38 % of its rate where this was 18 %, and nginx 9 % where it was 4 %.
constexpr double kDearShare = 0.02;
constexpr double kMostSlowdown = 0.05;
// In a crowd whose threads took a fifth at their beginnings, predictions were 9 points off, and 5
// with clocks. Where it was a twentieth, in programs of two threads, there was no difference.
constexpr double kDearShareOfThreads = 0.1;
// Where clocks cost 1.5 %, in memcached, they take more of the requests than timers do
// (docs/results.md, "Servers, end to end").
constexpr double kCheapShare = 0.01;
// Where an interrupt takes 50 us, as in some virtual machines, clocks took 13 and 19 % of nginx's
// requests, and timers, which come with the kernel's tick, 5 and 7 %.
constexpr double kCheapExpiries = 0.02;
// More than any switch was seen to cost (40 us). It tells whether measuring is worth while.
constexpr uint64_t kMostCostNs = 100 * kNsPerUs;

// Of the CPU time, and of a CPU.
bool IsMuch(double cost_ns_per_second, double dear_share, const SwitchRates& rates) {
  return cost_ns_per_second > dear_share * rates.cpu_ns_per_second &&
         cost_ns_per_second > dear_share * static_cast<double>(kNsPerSecond);
}

}  // namespace

std::optional<SwitchRates> SwitchMeter::Read(uint64_t now_ns) {
  const std::optional<ThreadTimes> growth = times_.TakeGrowth();
  const uint64_t elapsed_ns = now_ns - std::exchange(read_ns_, now_ns);
  const uint32_t started = control_.threads_started.load(std::memory_order_relaxed);
  const uint32_t threads = started - std::exchange(threads_started_, started);
  if (!growth.has_value() || elapsed_ns == 0) return std::nullopt;
  const double seconds = static_cast<double>(elapsed_ns) / static_cast<double>(kNsPerSecond);
  return SwitchRates{static_cast<double>(growth->switches) / seconds,
                     static_cast<double>(growth->ran_ns) / seconds,
                     static_cast<double>(threads) / seconds};
}

bool IsTooDear(const SwitchRates& rates, uint64_t switch_cost_ns) {
  return IsMuch(rates.switches_per_second * static_cast<double>(switch_cost_ns), kDearShare, rates);
}

bool ThreadsAreTooDear(const SwitchRates& rates, uint64_t switch_cost_ns) {
  return IsMuch(kSwitchesOfThread * rates.threads_per_second * static_cast<double>(switch_cost_ns),
                kDearShareOfThreads, rates);
}

bool ClocksAreCheap(const SourceChoice::Finding& finding, const ClockCost& cost,
                    uint64_t sampling_period_ns) {
  if (cost.switch_ns == 0 || finding.slowdown > 0) return false;
  // There is no choice but between events and clocks, and both expire as often.
  if (finding.by_threads) return cost.switch_ns < finding.switch_cost_ns;
  const double switches_ns =
      finding.rates.switches_per_second * static_cast<double>(cost.switch_ns);
  return switches_ns < kCheapShare * finding.rates.cpu_ns_per_second &&
         static_cast<double>(cost.expiry_ns) <
             kCheapExpiries * static_cast<double>(sampling_period_ns);
}

std::optional<SourceChoice::Finding> SourceChoice::Poll(uint64_t now_ns, By by) {
  if (has_found_ || now_ns < next_look_ns_) return std::nullopt;
  next_look_ns_ = now_ns + kLookNs;
  const std::optional<SwitchRates> rates = meter_.Read(now_ns);
  if (!rates.has_value()) return std::nullopt;
  const auto switches_tell = [&](uint64_t cost_ns) {
    return by == By::kAnything && IsTooDear(*rates, cost_ns);
  };
  const auto threads_tell = [&](uint64_t cost_ns) {
    return threads_tell_ && ThreadsAreTooDear(*rates, cost_ns);
  };
  if (!cost_ns_.has_value() && (switches_tell(kMostCostNs) || threads_tell(kMostCostNs))) {
    cost_ns_ = measure_cost_();
  }
  const bool by_switches = switches_tell(cost_ns_.value_or(0));
  const bool is_dear = by_switches || threads_tell(cost_ns_.value_or(0));
  dear_looks_ = is_dear ? dear_looks_ + 1 : 0;
  const bool slows = by == By::kAnything && slowdown_ > kMostSlowdown;
  if (dear_looks_ < kLooks && !slows) return std::nullopt;
  has_found_ = true;
  return Finding{*rates, cost_ns_.value_or(0), slows ? slowdown_ : 0, !slows && !by_switches};
}

void SourceChoice::IgnoreThreads() {
  threads_tell_ = false;
  has_found_ = false;
  dear_looks_ = 0;
}

}  // namespace coz::supervisor
