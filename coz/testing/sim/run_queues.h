// Which simulated threads have a CPU, and which get one next.
//
// kFifo has one queue for all CPUs. Nothing is known of a machine's scheduler, and a CPU is never
// idle while a thread waits for one.
//
// kFair follows the kernel's fair class (EEVDF without weights). Each CPU has its own queue, in the
// order of virtual run time. A woken thread goes to an idle CPU, first to its last one, or else to
// the shorter queue. It preempts a thread that has had its slice. A CPU that becomes idle takes a
// thread from the longest queue.
//
// Shape    one per simulation. A thread is on a CPU, in one queue, or in none
// Units    ns of simulated time
// Errors   none
// Threads  compatible
// Signals  none
// Source   kernel/sched/fair.c of Linux 6.18: place_entity, protect_slice, select_idle_sibling
#ifndef COZ_TESTING_SIM_RUN_QUEUES_H_
#define COZ_TESTING_SIM_RUN_QUEUES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace coz::sim {

enum class Scheduling { kFifo, kFair };

// What the queues know of a thread.
struct Runnable {
  uint32_t cpu = 0;  // that it is on, or was on last
  uint64_t virtual_run_ns =
      0;  // relative to others of the same CPU; when it got its CPU, if it has one
  uint64_t on_cpu_since_ns = 0;
};

class RunQueues {
 public:
  RunQueues(uint32_t cpus, Scheduling scheduling);

  // `thread` waits for a CPU. Returns the running thread that has to give its CPU up for it, or
  // null. `is_woken`: it comes out of a wait.
  Runnable* Add(Runnable& thread, bool is_woken, uint64_t now_ns);
  // The next thread that gets an idle CPU, which is in `cpu` of it; null where there is none.
  Runnable* Take(uint64_t now_ns);
  // `thread` gives up its CPU.
  void Leave(Runnable& thread, uint64_t now_ns);
  // At the end of the time slice of `thread`: whether another one gets its CPU.
  bool MustYield(const Runnable& thread, uint64_t now_ns) const;

  uint32_t running() const;
  uint32_t queued() const;

 private:
  // The kernel's base slice with two CPUs. No wake preempts a thread before.
  static constexpr uint64_t kProtectedNs = 1'400'000;

  struct Cpu {
    Runnable* running = nullptr;
    std::vector<Runnable*> queue;
    uint64_t least_virtual_run_ns = 0;

    size_t load() const { return queue.size() + (running != nullptr ? 1 : 0); }
  };

  uint32_t ChooseCpu(const Runnable& thread) const;
  void MoveTo(Runnable& thread, uint32_t cpu);
  static Runnable* TakeFrom(Cpu& cpu);
  Runnable* TakeFair(uint64_t now_ns);
  static void Advance(Cpu& cpu, uint64_t now_ns);

  const Scheduling scheduling_;
  std::vector<Cpu> cpus_;
  std::deque<Runnable*> fifo_;
  std::vector<uint32_t> idle_;  // kFifo
};

}  // namespace coz::sim

#endif  // COZ_TESTING_SIM_RUN_QUEUES_H_
