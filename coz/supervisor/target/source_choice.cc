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
// Where clocks cost 1.5 %, in memcached, they take more of the requests than timers do
// (docs/results.md, "Servers, end to end").
constexpr double kCheapShare = 0.01;
// Where an interrupt takes 50 us, as in some virtual machines, clocks took 13 and 19 % of nginx's
// requests, and timers, which come with the kernel's tick, 5 and 7 %.
constexpr double kCheapExpiries = 0.02;
// More than any switch was seen to cost (40 us). It tells whether measuring is worth while.
constexpr uint64_t kMostCostNs = 100 * kNsPerUs;

}  // namespace

std::optional<SwitchRates> SwitchMeter::Read(uint64_t now_ns) {
  const std::optional<ThreadTimes> growth = times_.TakeGrowth();
  const uint64_t elapsed_ns = now_ns - std::exchange(read_ns_, now_ns);
  if (!growth.has_value() || elapsed_ns == 0) return std::nullopt;
  const double seconds = static_cast<double>(elapsed_ns) / static_cast<double>(kNsPerSecond);
  return SwitchRates{static_cast<double>(growth->switches) / seconds,
                     static_cast<double>(growth->ran_ns) / seconds};
}

bool IsTooDear(const SwitchRates& rates, uint64_t switch_cost_ns) {
  const double cost_ns = rates.switches_per_second * static_cast<double>(switch_cost_ns);
  return cost_ns > kDearShare * rates.cpu_ns_per_second &&
         cost_ns > kDearShare * static_cast<double>(kNsPerSecond);
}

bool ClocksAreCheap(const SourceChoice::Finding& finding, const ClockCost& cost,
                    uint64_t sampling_period_ns) {
  if (cost.switch_ns == 0 || finding.slowdown > 0) return false;
  const double switches_ns =
      finding.rates.switches_per_second * static_cast<double>(cost.switch_ns);
  return switches_ns < kCheapShare * finding.rates.cpu_ns_per_second &&
         static_cast<double>(cost.expiry_ns) <
             kCheapExpiries * static_cast<double>(sampling_period_ns);
}

std::optional<SourceChoice::Finding> SourceChoice::Poll(uint64_t now_ns) {
  if (has_found_ || now_ns < next_look_ns_) return std::nullopt;
  next_look_ns_ = now_ns + kLookNs;
  const std::optional<SwitchRates> rates = meter_.Read(now_ns);
  if (!rates.has_value()) return std::nullopt;
  if (!cost_ns_.has_value() && IsTooDear(*rates, kMostCostNs)) cost_ns_ = measure_cost_();
  dear_looks_ = IsTooDear(*rates, cost_ns_.value_or(0)) ? dear_looks_ + 1 : 0;
  const bool slows = slowdown_ > kMostSlowdown;
  if (dear_looks_ < kLooks && !slows) return std::nullopt;
  has_found_ = true;
  return Finding{*rates, cost_ns_.value_or(0), slows ? slowdown_ : 0};
}

}  // namespace coz::supervisor
