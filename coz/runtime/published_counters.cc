#include "coz/runtime/published_counters.h"

#include <atomic>
#include <cstdint>

#include "coz/base/target_counters.h"
#include "coz/sampler/sampler.h"
#include "coz/sampler/unwind/unwinder.h"

namespace coz::runtime {
namespace {

// What this process has added to the block's counters so far.
struct Published {
#define COZ_FIELD(name, from) std::atomic<uint64_t> name{0};
  COZ_PUBLISHED_COUNTERS(COZ_FIELD)
#undef COZ_FIELD
};
Published g_published;

// What this process has counted so far.
struct Counted {
#define COZ_FIELD(name, from) uint64_t name;
  COZ_PUBLISHED_COUNTERS(COZ_FIELD)
#undef COZ_FIELD
};

Counted ReadCounted() {
  const sampler::SamplerCounters sampler = sampler::ReadSamplerCounters();
  const sampler::UnwinderCounters unwinder = sampler::ReadUnwinderCounters();
  Counted counted;
#define COZ_READ(name, from) counted.name = from;
  COZ_PUBLISHED_COUNTERS(COZ_READ)
#undef COZ_READ
  return counted;
}

void PublishOne(std::atomic<uint64_t>& published, uint64_t now, std::atomic<uint64_t>& sum) {
  const uint64_t before = published.exchange(now, std::memory_order_relaxed);
  // Modulo 2^64, as one thread may overtake another.
  shared::Add(sum, now - before);
}

}  // namespace

void PublishCounters(shared::ControlBlock& control) {
  const Counted counted = ReadCounted();
#define COZ_PUBLISH(name, from) PublishOne(g_published.name, counted.name, control.counters.name);
  COZ_PUBLISHED_COUNTERS(COZ_PUBLISH)
#undef COZ_PUBLISH
}

void ForgetPublishedCounters() {
  const Counted counted = ReadCounted();
#define COZ_FORGET(name, from) g_published.name.store(counted.name, std::memory_order_relaxed);
  COZ_PUBLISHED_COUNTERS(COZ_FORGET)
#undef COZ_FORGET
}

}  // namespace coz::runtime
