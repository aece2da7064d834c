#include "coz/supervisor/points/counter_lending.h"

#include <tuple>

#include "coz/sampler/perf_event.h"

namespace coz::supervisor {
namespace {

struct Entry {
  int32_t fd;
  uint64_t event;
  uint64_t visits_before;
  uint32_t point;
  shared::PairEnd end;
  auto Key() const { return std::tie(fd, event, visits_before, point, end); }
};

Entry Read(const shared::LentCounter& counter) {
  return {counter.fd, counter.event, counter.visits_before, counter.point, counter.end};
}

void Write(const Entry& entry, shared::LentCounter* counter) {
  counter->fd.store(entry.fd, std::memory_order_relaxed);
  counter->event.store(entry.event, std::memory_order_relaxed);
  counter->visits_before.store(entry.visits_before, std::memory_order_relaxed);
  counter->point.store(entry.point, std::memory_order_relaxed);
  counter->end.store(entry.end, std::memory_order_relaxed);
}

std::vector<Entry> EntriesOf(const std::vector<LendableCounter>& counters) {
  std::vector<Entry> entries;
  for (const LendableCounter& counter : counters) {
    // What is counted by changed code alone has nothing here, but can be read.
    if (counter.visits_before != 0 || counter.descriptors.empty()) {
      entries.push_back({-1, 0, counter.visits_before, counter.point, counter.end});
    }
    for (const int fd : counter.descriptors) {
      entries.push_back({fd, sampler::PerfEventId(fd), 0, counter.point, counter.end});
    }
  }
  return entries;
}

bool IsWritten(const std::vector<Entry>& entries, const shared::LentCounters& lent) {
  if (lent.used.load(std::memory_order_relaxed) != entries.size()) return false;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (Read(lent.counters[i]).Key() != entries[i].Key()) return false;
  }
  return true;
}

}  // namespace

bool LendCounters(const std::vector<LendableCounter>& counters, shared::LentCounters* lent) {
  std::vector<Entry> entries = EntriesOf(counters);
  const bool fit = entries.size() <= shared::kMaxLentCounters;
  if (!fit) entries.clear();
  if (IsWritten(entries, *lent)) return fit;
  const uint32_t version = lent->version.load(std::memory_order_relaxed);
  lent->version.store(version + 1, std::memory_order_relaxed);
  // A reader that sees anything of what follows finds the version odd, or another one.
  std::atomic_thread_fence(std::memory_order_release);
  for (size_t i = 0; i < entries.size(); ++i) Write(entries[i], &lent->counters[i]);
  lent->used.store(static_cast<uint32_t>(entries.size()), std::memory_order_relaxed);
  lent->version.store(version + 2, std::memory_order_release);
  return fit;
}

}  // namespace coz::supervisor
