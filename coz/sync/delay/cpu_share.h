// What a thread owes where threads outnumber CPUs.
//
// A virtual speedup stalls CPUs: while the selected unit runs on one, every other owes the delay. A
// thread that waits for a CPU has none to stall. So it owes nothing of what is imposed while it is
// queued, and pauses for the rest while it holds its CPU: were it to sleep, the next thread in the
// queue would work there for free.
//
// At a *CPU look* the thread reads for how long it has been queued in all. Of the delay that grew
// since the last look, what was imposed on its own CPU was imposed while it was queued, as only one
// thread runs there at a time. The rest is taken to have grown evenly.
//
// Shape    CpuShare: one per thread, in its ledger. CpuTable: one for all processes, in the global
//          ledger. All zero at first
// Units    ns of CLOCK_MONOTONIC, of the thread's CPU time, and of delay
// Errors   none. CPUs whose numbers differ by kCpus share a place
// Threads  CpuShare: the owner's only. CpuTable: safe
// Signals  async-signal-safe; a handler of the same thread that looks in the middle of another look
//          may credit part of its own running time, once
// Source   docs/design/delays.md, "More threads than CPUs"
#ifndef COZ_SYNC_DELAY_CPU_SHARE_H_
#define COZ_SYNC_DELAY_CPU_SHARE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace coz::delay {

// What threads have imposed on each CPU.
class CpuTable {
 public:
  static constexpr uint32_t kCpus = 256;

  void NoteImposed(uint32_t cpu, uint64_t delay_ns) {
    places_[cpu % kCpus].imposed_ns.fetch_add(delay_ns, std::memory_order_relaxed);
  }
  uint64_t imposed_ns(uint32_t cpu) const {
    return places_[cpu % kCpus].imposed_ns.load(std::memory_order_relaxed);
  }

 private:
  struct alignas(64) Place {
    std::atomic<uint64_t> imposed_ns;
  };
  Place places_[kCpus];
};

// What the thread reads for a look.
struct CpuLook {
  uint64_t now_ns;
  uint64_t queued_ns;  // since the thread began
  uint32_t cpu;
};

// What the ledgers say at a look.
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

  struct Queued {
    uint64_t queued_ns;
    uint64_t delay_ns;  // that grew meanwhile, and is not owed
  };
  // Since the last look. The next one counts from here.
  Queued Take(const CpuLook& look, const DelayAtLook& delay, uint32_t cpus) {
    const Queued queued = now_ns_ == 0 ? Queued{0, 0} : Since(look, delay, cpus);
    now_ns_ = look.now_ns;
    queued_ns_ = look.queued_ns;
    cpu_ = look.cpu;
    delay_ = delay;
    return queued;
  }

 private:
  Queued Since(const CpuLook& look, const DelayAtLook& delay, uint32_t cpus) const {
    const uint64_t passed_ns = look.now_ns - now_ns_;
    const uint64_t queued_ns = std::min(look.queued_ns - queued_ns_, passed_ns);
    const uint64_t ran_ns = passed_ns - queued_ns;  // or waited
    if (queued_ns == 0) return {0, 0};
    const uint64_t own_ns = delay.imposed_ns - delay_.imposed_ns;
    const uint64_t grown_ns = Less(delay.global_ns - delay_.global_ns, own_ns);
    // Others impose on all CPUs while it is queued, and on one less while it runs.
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

  uint64_t now_ns_;  // of the last look; 0: none that counts
  uint64_t queued_ns_;
  uint32_t cpu_;
  DelayAtLook delay_;
};

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_CPU_SHARE_H_
