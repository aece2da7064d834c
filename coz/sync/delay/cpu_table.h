// Where each CPU stands in a crowd: the local delay of the thread that has it, or had it last.
//
// A virtual speedup stalls CPUs. Where threads outnumber them, what others impose is a debt of the
// CPU: whichever thread runs there pays it, once. A thread that gets a CPU has no part in this, and
// does not even learn of it at once. But nothing of a CPU's stand depends on whether it learns: no
// thread changes the stand until it samples, calls, pauses or waits. Then it finds the note of
// another thread here, goes on from there, and notes itself.
//
// A CPU that idles pays by idling. So a thread notes when it leaves for a wait.
//
// Shape    one table for all processes, in the global ledger; all zero at first
// Units    ns of CLOCK_MONOTONIC, and of delay
// Errors   none. CPUs whose numbers differ by kCpus share a place
// Threads  safe. Who is not on the CPU any more may write over the note of the next one
// Signals  async-signal-safe
// Source   docs/design/delays.md, "More threads than CPUs"
#ifndef COZ_SYNC_DELAY_CPU_TABLE_H_
#define COZ_SYNC_DELAY_CPU_TABLE_H_

#include <atomic>
#include <cstdint>

namespace coz::delay {

class CpuTable {
 public:
  static constexpr uint32_t kCpus = 256;
  // A note that is older tells nothing: who runs there is not profiled, or there is no crowd.
  static constexpr uint64_t kLastsNs = 5'000'000;

  // Thread `by`, which is not 0, has the CPU, and it stands at `local_delay_ns`. Whoever has not
  // left it before is preempted, and stays so until IsBack.
  void Note(uint32_t cpu, uint32_t by, uint64_t local_delay_ns, uint64_t now_ns) {
    Place& place = places_[cpu % kCpus];
    const uint32_t before = place.by.load(std::memory_order_relaxed);
    if (before != by && before != 0 && !IsLeft(cpu)) {
      place.preempted.fetch_add(1, std::memory_order_relaxed);
    }
    Write(cpu, by, local_delay_ns, now_ns & ~kIsLeft);
  }
  // Thread `by` has noted itself, has not left, and has found out that it runs again, on whatever
  // CPU.
  void IsBack(uint32_t cpu, uint32_t by, uint32_t on_cpu, uint64_t now_ns) {
    Place& place = places_[cpu % kCpus];
    if (IsNotedBy(cpu, by)) {
      if (cpu != on_cpu) place.at_ns.store(now_ns | kIsLeft, std::memory_order_relaxed);
      return;
    }
    uint32_t preempted = place.preempted.load(std::memory_order_relaxed);
    while (preempted != 0 && !place.preempted.compare_exchange_weak(preempted, preempted - 1,
                                                                    std::memory_order_relaxed)) {
    }
  }
  // Threads may have ended while they were preempted.
  void ForgetPreempted() {
    for (Place& place : places_) place.preempted.store(0, std::memory_order_relaxed);
  }
  // The same, and the thread is about to wait.
  void Leave(uint32_t cpu, uint32_t by, uint64_t local_delay_ns, uint64_t now_ns) {
    Write(cpu, by, local_delay_ns, now_ns | kIsLeft);
  }
  // The thread that has noted itself still has the CPU.
  void Renew(uint32_t cpu, uint64_t now_ns) {
    places_[cpu % kCpus].at_ns.store(now_ns & ~kIsLeft, std::memory_order_relaxed);
  }
  // The thread has imposed or paid `ns`. Nothing where another one has noted itself since.
  void Add(uint32_t cpu, uint32_t by, uint64_t ns) {
    Place& place = places_[cpu % kCpus];
    if (IsNotedBy(cpu, by)) place.local_delay_ns.fetch_add(ns, std::memory_order_relaxed);
  }

  bool IsNotedBy(uint32_t cpu, uint32_t by) const {
    return places_[cpu % kCpus].by.load(std::memory_order_relaxed) == by;
  }
  uint64_t local_delay_ns(uint32_t cpu) const {
    return places_[cpu % kCpus].local_delay_ns.load(std::memory_order_relaxed);
  }
  bool IsLeft(uint32_t cpu) const {
    return (places_[cpu % kCpus].at_ns.load(std::memory_order_relaxed) & kIsLeft) != 0;
  }
  // Where the CPU stands for a thread that can run from `ready_ns` on and has it at `now_ns`.
  // Between the end of the note and that time it was idle, unless a preempted thread has run there.
  // kUnknown: no note is recent.
  static constexpr uint64_t kUnknown = ~uint64_t{0};
  uint64_t StandsAt(uint32_t cpu, uint64_t now_ns, uint64_t ready_ns) const {
    const Place& place = places_[cpu % kCpus];
    const uint64_t at_ns = place.at_ns.load(std::memory_order_relaxed);
    if (at_ns == 0 || now_ns > at_ns + kLastsNs) return kUnknown;
    const bool is_idle = IsLeft(cpu) && place.preempted.load(std::memory_order_relaxed) == 0;
    const uint64_t idle_ns = is_idle && ready_ns > at_ns ? ready_ns - at_ns : 0;
    return place.local_delay_ns.load(std::memory_order_relaxed) + idle_ns;
  }

 private:
  static constexpr uint64_t kIsLeft = 1;  // in the lowest bit of a time

  struct alignas(64) Place {
    std::atomic<uint32_t> by;  // ThreadLedger::number
    std::atomic<uint64_t> local_delay_ns;
    std::atomic<uint64_t> at_ns;
    std::atomic<uint32_t> preempted;  // threads that could run when another one got the CPU
  };

  void Write(uint32_t cpu, uint32_t by, uint64_t local_delay_ns, uint64_t at_ns) {
    Place& place = places_[cpu % kCpus];
    place.local_delay_ns.store(local_delay_ns, std::memory_order_relaxed);
    place.at_ns.store(at_ns, std::memory_order_relaxed);
    place.by.store(by, std::memory_order_relaxed);
  }

  Place places_[kCpus];
};

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_CPU_TABLE_H_
