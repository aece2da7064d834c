// What a thread owes where threads outnumber CPUs.
//
// A virtual speedup stalls CPUs: while the selected unit runs on one CPU, every other CPU owes the
// delay. A thread that is queued for a CPU has no CPU to stall. So it owes nothing of the delay
// that is imposed while it is queued. It pays the rest by pauses in which it holds its CPU. If it
// slept, the next thread in the queue would work there for free.
//
// At a *CPU look* the thread reads for how long it has been queued in all. Then it divides the
// delay that grew since the last look. The part that was imposed on the thread's own CPU grew while
// the thread was queued, because only one thread runs there at a time. The rest is taken to have
// grown evenly.
//
// That is an estimate. What is known exactly is where the CPU stands: the local delay that the
// thread which ran there before has left (CpuTable). A thread that was queued goes on from there
// where its own local delay is smaller. Else it would pay for what its CPU has paid already.
//
// Shape    CpuShare: one per thread, in its ledger. CpuTable: one for all processes, in the global
//          ledger. All zero at first
// Units    ns of CLOCK_MONOTONIC, of the thread's CPU time, and of delay
// Errors   none. CPUs whose numbers differ by kCpus share a place
// Threads  CpuShare: the owner only. CpuTable: safe
// Signals  async-signal-safe. If a handler of the same thread looks in the middle of another look,
//          the thread may get credit for part of its own running time, once
// Source   docs/design/delays.md, "More threads than CPUs"
#ifndef COZ_SYNC_DELAY_CPU_SHARE_H_
#define COZ_SYNC_DELAY_CPU_SHARE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace coz::delay {

// How much delay threads have imposed while they ran on each CPU, and the local delay of the thread
// that left it last.
class CpuTable {
 public:
  static constexpr uint32_t kCpus = 256;

  void NoteImposed(uint32_t cpu, uint64_t delay_ns) {
    places_[cpu % kCpus].imposed_ns.fetch_add(delay_ns, std::memory_order_relaxed);
  }
  uint64_t imposed_ns(uint32_t cpu) const {
    return places_[cpu % kCpus].imposed_ns.load(std::memory_order_relaxed);
  }
  void Leave(uint32_t cpu, uint64_t local_delay_ns) {
    places_[cpu % kCpus].local_delay_ns.store(local_delay_ns, std::memory_order_relaxed);
  }
  uint64_t local_delay_ns(uint32_t cpu) const {
    return places_[cpu % kCpus].local_delay_ns.load(std::memory_order_relaxed);
  }

 private:
  struct alignas(64) Place {
    std::atomic<uint64_t> imposed_ns;
    std::atomic<uint64_t> local_delay_ns;
  };
  Place places_[kCpus];
};

// What the thread reads for a look.
struct CpuLook {
  uint64_t now_ns;
  uint64_t queued_ns;  // since the thread began
  uint32_t cpu;
};

// What the ledgers hold at a look.
struct DelayAtLook {
  uint64_t global_ns;
  uint64_t imposed_ns;       // by the thread
  uint64_t imposed_here_ns;  // by all threads, on the CPU that the thread is on
};

class CpuShare {
 public:
  uint32_t cpu() const { return cpu_; }

  // For a new thread.
  void Reset() { now_ns_ = 0; }

  // Whether the last look is so short ago that another one need not be. A look costs a system call,
  // and a server thread may wait and wake others several times in this time. Before a pause less
  // may be left to a later look, for what is paid for in error is lost.
  static constexpr uint64_t kLeastBetweenLooksNs = 100'000;
  static constexpr uint64_t kLeastBeforePauseNs = 20'000;
  bool HasJustLooked(uint64_t now_ns, uint64_t least_ns) const {
    return now_ns_ != 0 && now_ns - now_ns_ - looked_after_ns_ < least_ns;
  }

  struct Queued {
    uint64_t queued_ns;
    uint64_t delay_ns;  // the delay that grew meanwhile, which is not owed
  };
  // Less is left for a later look of the same second on the same CPU, since two clocks are read one
  // after the other. A server's threads are queued for a moment at each request, which adds up.
  static constexpr uint64_t kLeastQueuedNs = 20'000;
  static constexpr uint64_t kMostLeftNs = 1'000'000'000;

  // The time in the queue since the last look that told any. The next one counts from here.
  Queued Take(const CpuLook& look, const DelayAtLook& delay, uint32_t cpus) {
    const uint64_t passed_ns = look.now_ns - now_ns_;
    const bool tells = look.queued_ns - queued_ns_ >= kLeastQueuedNs || look.cpu != cpu_;
    if (now_ns_ != 0 && !tells && passed_ns < kMostLeftNs) {
      looked_after_ns_ = static_cast<uint32_t>(passed_ns);
      return {0, 0};
    }
    const Queued queued = now_ns_ == 0 ? Queued{0, 0} : Since(look, delay, cpus);
    now_ns_ = look.now_ns;
    looked_after_ns_ = 0;
    queued_ns_ = look.queued_ns;
    cpu_ = look.cpu;
    delay_ = delay;
    return queued;
  }

 private:
  Queued Since(const CpuLook& look, const DelayAtLook& delay, uint32_t cpus) const {
    const uint64_t passed_ns = look.now_ns - now_ns_;
    const uint64_t queued_ns = std::min(look.queued_ns - queued_ns_, passed_ns);
    const uint64_t ran_ns = passed_ns - queued_ns;  // in which the thread ran or waited
    if (queued_ns == 0) return {0, 0};
    const uint64_t own_ns = delay.imposed_ns - delay_.imposed_ns;
    const uint64_t grown_ns = Less(delay.global_ns - delay_.global_ns, own_ns);
    // Other threads impose on all CPUs while this one is queued, and on one CPU less while it runs.
    double queued_weight = static_cast<double>(queued_ns) * cpus;
    const double ran_weight = static_cast<double>(ran_ns) * (cpus - 1);
    uint64_t here_ns = 0;
    if (look.cpu == cpu_) {
      here_ns = std::min(grown_ns, Less(delay.imposed_here_ns - delay_.imposed_here_ns, own_ns));
      queued_weight = static_cast<double>(queued_ns) * (cpus - 1);
    }
    const double weight = queued_weight + ran_weight;
    const double share = weight > 0 ? queued_weight / weight : 1;
    const auto elsewhere_ns =
        static_cast<uint64_t>(share * static_cast<double>(grown_ns - here_ns));
    return {queued_ns, std::min(here_ns + elsewhere_ns, queued_ns)};
  }
  static uint64_t Less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

  uint64_t now_ns_;  // of the last look from which time in the queue counts; 0: there was none
  uint64_t queued_ns_;
  uint32_t cpu_;
  uint32_t looked_after_ns_;  // the last look was so long after that
  DelayAtLook delay_;
};

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_CPU_SHARE_H_
