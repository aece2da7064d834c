// What happened in the target, counted in shared memory.
//
// Shape    an atomic for each name in the lists of coz/base/target_counters.h, and the counters of
//          samples by what became of them
// Units    as the lists say
// Errors   none
// Threads  safe, across processes; the target adds, the supervisor reads
// Signals  lock-free
// Source   docs/design.md, "Shared memory"
#ifndef COZ_SHARED_COUNTERS_H_
#define COZ_SHARED_COUNTERS_H_

#include <atomic>
#include <cstdint>

#include "coz/base/target_counters.h"

namespace coz::shared {

// In sampling periods, but for those in ns.
struct SampleCounters {
  std::atomic<uint64_t> in_scope;
  std::atomic<uint64_t> selected;      // in the selected unit
  std::atomic<uint64_t> given;         // in the given unit, while delays were on
  std::atomic<uint64_t> out_of_scope;  // no frame of the callchain is in scope
  // Where waits are units, in ns: as `selected` and `given`.
  std::atomic<uint64_t> selected_wait_ns;
  std::atomic<uint64_t> given_wait_ns;
};

struct BlockCounters {
#define COZ_FIELD(name, ...) std::atomic<uint64_t> name;
  COZ_EXPERIMENT_COUNTERS(COZ_FIELD)
  COZ_RUN_COUNTERS(COZ_FIELD)
#undef COZ_FIELD
};

inline void Add(std::atomic<uint64_t>& counter, uint64_t count = 1) {
  counter.fetch_add(count, std::memory_order_relaxed);
}

inline ExperimentCounters ReadExperimentCounters(const BlockCounters& counters) {
  ExperimentCounters read;
#define COZ_READ(name, ...) read.name = counters.name.load(std::memory_order_relaxed);
  COZ_EXPERIMENT_COUNTERS(COZ_READ)
#undef COZ_READ
  return read;
}

inline RunCounters ReadRunCounters(const BlockCounters& counters) {
  RunCounters read;
#define COZ_READ(name, ...) read.name = counters.name.load(std::memory_order_relaxed);
  COZ_RUN_COUNTERS(COZ_READ)
#undef COZ_READ
  return read;
}

}  // namespace coz::shared

#endif  // COZ_SHARED_COUNTERS_H_
