#include "coz/sampler/short_threads.h"

#include <algorithm>

namespace coz::sampler {
namespace {

constexpr uint64_t kThreadsToJudge = 16;
constexpr uint64_t kUnsampledPart = 10;  // a tenth
// To open it, close it and take its samples beside the inherited one's; fork_join in
// bench/accuracy.
constexpr uint64_t kEventCostNs = 250'000;
constexpr uint64_t kCostPart = 20;  // a twentieth of the threads' time
constexpr uint64_t kMostThreadsPerEvent = 8;
constexpr uint64_t kTimesMeanLength = 4;  // a first period beyond that is not waited for
constexpr uint64_t kPeriodsToWeigh = 2;
constexpr uint64_t kWholeWeight = 1024;
constexpr auto kRelaxed = std::memory_order_relaxed;

// Spread evenly over the length, by multiples of the golden ratio.
uint64_t PartOf(uint64_t length_ns, uint64_t index) {
  constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;
  const uint64_t fraction = index * kGoldenRatio;
  return static_cast<uint64_t>((static_cast<unsigned __int128>(fraction) * length_ns) >> 64);
}

// Where kernel time is left out and a tick finds the kernel's own code, the kernel repeats it after
// the same time. If a tick costs more than that, the thread never leaves the kernel.
uint64_t FirstPeriodNs(uint64_t index, uint64_t sampling_period_ns) {
  constexpr uint64_t kLeastNs = 100'000;
  return std::max(PartOf(sampling_period_ns, index), std::min(kLeastNs, sampling_period_ns));
}

uint64_t MeanLengthNs(const EndedThreads& ended) {
  return ended.cpu_ns.load(kRelaxed) / ended.threads.load(kRelaxed) + 1;
}

// How many threads run for so long together. One that is a little shorter cannot impose all of it,
// so that makes two.
uint64_t ThreadsIn(const EndedThreads& ended, uint64_t cpu_ns) {
  constexpr uint64_t kMostThreads = 256;
  if (!ThreadsAreShort(ended)) return 1;
  const uint64_t mean_ns = MeanLengthNs(ended);
  return std::clamp<uint64_t>((cpu_ns + mean_ns - 1) / mean_ns, 1, kMostThreads);
}

// Not always the first of a group: a program may make threads of several kinds in turn.
uint64_t AnyOf(uint64_t threads, uint64_t group) {
  uint64_t mixed = (group + 1) * 0xBF58476D1CE4E5B9;
  mixed = (mixed ^ (mixed >> 31)) * 0x94D049BB133111EB;
  return (mixed >> 32) % threads;
}

}  // namespace

void NoteThreadEnd(EndedThreads& ended, uint64_t cpu_ns, uint64_t rest_ns) {
  ended.threads.fetch_add(1, kRelaxed);
  ended.cpu_ns.fetch_add(cpu_ns, kRelaxed);
  ended.rest_ns.fetch_add(rest_ns, kRelaxed);
}

bool ThreadsAreShort(const EndedThreads& ended) {
  return ended.threads.load(kRelaxed) >= kThreadsToJudge &&
         ended.rest_ns.load(kRelaxed) * kUnsampledPart > ended.cpu_ns.load(kRelaxed);
}

ShortThreadPlan PlanShortThread(EndedThreads& ended, uint64_t sampling_period_ns) {
  ShortThreadPlan plan;
  const uint64_t mean_ns = MeanLengthNs(ended);
  plan.weighs_rest = mean_ns >= kPeriodsToWeigh * sampling_period_ns;
  if (plan.weighs_rest) return plan;
  plan.stands_for =
      std::clamp<uint64_t>(kEventCostNs * kCostPart / mean_ns, 1, kMostThreadsPerEvent);
  const uint64_t index = ended.short_threads.fetch_add(1, kRelaxed);
  const uint64_t group = index / plan.stands_for;
  if (index % plan.stands_for != AnyOf(plan.stands_for, group)) return plan;
  const uint64_t first_ns = FirstPeriodNs(1 + group, sampling_period_ns);
  if (first_ns <= kTimesMeanLength * mean_ns) plan.first_period_ns = first_ns;
  return plan;
}

FirstSamplePlan PlanThreadEvent(EndedThreads& ended, uint64_t sampling_period_ns) {
  const uint64_t index = ended.first_periods.fetch_add(1, kRelaxed);
  return {FirstPeriodNs(index, sampling_period_ns), ThreadsIn(ended, sampling_period_ns)};
}

FirstSamplePlan PlanThreadTimer(EndedThreads& ended, uint64_t sampling_period_ns,
                                uint64_t tick_ns) {
  FirstSamplePlan plan = {1, ThreadsIn(ended, std::max(sampling_period_ns, tick_ns))};
  if (sampling_period_ns > tick_ns) {
    const uint64_t index = ended.first_periods.fetch_add(1, kRelaxed);
    plan.first_period_ns += PartOf(sampling_period_ns - tick_ns, index);
  }
  return plan;
}

FirstSamplePlan PlanThreadClock(const EndedThreads& ended, uint64_t sampling_period_ns) {
  return {0, ThreadsIn(ended, sampling_period_ns)};
}

uint64_t WeightOfFirstTimerSample(EndedThreads& ended, uint64_t sampling_period_ns,
                                  uint64_t tick_ns) {
  const uint64_t each_ns = std::max(sampling_period_ns, tick_ns);
  const uint64_t before = ended.first_samples.fetch_add(1, kRelaxed);
  return (before + 1) * each_ns / sampling_period_ns - before * each_ns / sampling_period_ns;
}

uint64_t WeightOfRests(EndedThreads& ended, uint64_t periods) {
  const uint64_t rest_ns = ended.rest_ns.load(kRelaxed);
  const uint64_t cpu_ns = ended.cpu_ns.load(kRelaxed);
  if (cpu_ns <= rest_ns) return 0;
  const uint64_t more = rest_ns * kWholeWeight / (cpu_ns - rest_ns) * periods;
  const uint64_t before = ended.carried_weight.fetch_add(more, kRelaxed);
  return (before + more) / kWholeWeight - before / kWholeWeight;
}

}  // namespace coz::sampler
