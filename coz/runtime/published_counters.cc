#include "coz/runtime/published_counters.h"

#include <atomic>
#include <cstdint>

#include "coz/sampler/sampler.h"
#include "coz/sampler/unwinder.h"

namespace coz::runtime {
namespace {

// What this process has added to the block's counters so far.
struct PublishedCounters {
  std::atomic<uint64_t> dropped{0};
  std::atomic<uint64_t> lost_periods{0};
  std::atomic<uint64_t> unsampled_ns{0};
  std::atomic<uint64_t> broken_unwinds{0};
};
PublishedCounters g_published;

void PublishOne(std::atomic<uint64_t>& published, uint64_t now, std::atomic<uint64_t>& shared) {
  const uint64_t before = published.exchange(now, std::memory_order_relaxed);
  shared.fetch_add(now - before,
                   std::memory_order_relaxed);  // modulo 2^64, should threads overtake
}

uint64_t BrokenUnwinds() {
  const sampler::UnwinderCounters unwinder = sampler::ReadUnwinderCounters();
  return unwinder.no_cfi + unwinder.bad_cfi + unwinder.bad_memory + unwinder.too_deep;
}

}  // namespace

void PublishCounters(shared::ControlBlock& control) {
  const sampler::SamplerCounters sampler = sampler::ReadSamplerCounters();
  PublishOne(g_published.dropped, sampler.dropped, control.dropped_samples);
  PublishOne(g_published.lost_periods, sampler.lost_periods, control.lost_periods);
  PublishOne(g_published.unsampled_ns, sampler.unsampled_ns, control.unsampled_ns);
  PublishOne(g_published.broken_unwinds, BrokenUnwinds(), control.broken_unwinds);
}

void ForgetPublishedCounters() {
  const sampler::SamplerCounters sampler = sampler::ReadSamplerCounters();
  g_published.dropped.store(sampler.dropped, std::memory_order_relaxed);
  g_published.lost_periods.store(sampler.lost_periods, std::memory_order_relaxed);
  g_published.unsampled_ns.store(sampler.unsampled_ns, std::memory_order_relaxed);
  g_published.broken_unwinds.store(BrokenUnwinds(), std::memory_order_relaxed);
}

}  // namespace coz::runtime
