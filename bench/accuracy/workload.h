// What the accuracy programs share: work of a known length, an option that shortens one line of it,
// and the count of visits.
//
// Shape    one Program per process. A line of interest is one source line marked `// LINE(label)`.
//          It holds all of its work, so no other line gets its samples
// Units    us of CPU time on the machine that was calibrated; scales are fractions
// Errors   a bad argument, or a --scale of a label that the program does not have, ends it with
//          status 2 and a message
// Threads  Program's const functions: safe. The rest: for the main thread
// Signals  none
// Source   docs/results.md, "Accuracy"
#ifndef COZ_BENCH_ACCURACY_WORKLOAD_H_
#define COZ_BENCH_ACCURACY_WORKLOAD_H_

#include <pthread.h>

#include <cstdint>
#include <functional>
#include <string>

#include "coz/runtime/coz.h"

// Work of `steps` steps, all on the line that uses the macro. Each step needs the result of the
// previous one. So a step takes the time of a multiplication, whatever runs on a sibling of the
// core. The factor depends on the line, so that the compiler does not join two loops.
#define WORK(state, steps)                                                         \
  for (uint64_t work_left_ = (steps); work_left_ != 0; --work_left_) {             \
    (state) = (state) * (6364136223846793005u + 2ul * __LINE__) + ((state) >> 29); \
  }

// A visit to the program's progress point.
#define VISIT(name)                                     \
  do {                                                  \
    COZ_PROGRESS_NAMED(name);                           \
    COUNT_FOR_PEER_(COZ_COUNTER_TYPE_THROUGHPUT, name); \
    workload::CountVisit();                             \
  } while (false)

#define ARRIVE(name)                               \
  do {                                             \
    COZ_BEGIN(name);                               \
    COUNT_FOR_PEER_(COZ_COUNTER_TYPE_BEGIN, name); \
  } while (false)

#define DEPART(name)                             \
  do {                                           \
    COZ_END(name);                               \
    COUNT_FOR_PEER_(COZ_COUNTER_TYPE_END, name); \
    workload::CountVisit();                      \
  } while (false)

// The original has no counters per thread, so the same binary also counts by the original's own
// interface.
#define COUNT_FOR_PEER_(type, name)                                                       \
  do {                                                                                    \
    static uint64_t* const peer_counter_ = workload::PeerCounter(type, name);             \
    if (peer_counter_ != nullptr) __atomic_add_fetch(peer_counter_, 1, __ATOMIC_RELAXED); \
  } while (false)

namespace workload {

// Null unless the original's runtime is loaded.
uint64_t* PeerCounter(int type, const char* name);

void CountVisit();
// Whether there are the two visits that a rate needs.
bool HasEnoughVisits();

// Adds the time that an item took. For programs whose progress point is a latency.
void AddLatencyNs(uint64_t latency_ns);

uint64_t NowNs();
void SleepUs(uint64_t us);

// CPUs are numbered among those that the process was allowed when it started.
//
// Makes the calling thread run only on this CPU. Does nothing where the process has no such CPU.
void UseCpu(int cpu);
inline constexpr int kAnyCpu = -1;

// Makes the program run on `cpus` CPUs with more threads than that. Its threads' waits for a CPU
// are then intended and do not count as a disturbance. To be called before it makes threads.
void ShareCpus(int cpus);

// Adds the time that the calling thread has waited for a CPU so far to the program's figure.
void AddWaitForCpu();

// Makes the compiler believe that `value` is used.
inline void Keep(uint64_t value) { asm volatile("" : : "r"(value)); }

// A thread that starts on its own CPU. A thread that moves there by itself has to be scheduled on
// its creator's CPU first.
class Thread {
 public:
  Thread(int cpu, std::function<void()> function);

  void join() { pthread_join(thread_, nullptr); }
  void detach() { pthread_detach(thread_); }

 private:
  pthread_t thread_ = {};
};

// The most threads that can have a CPU of their own while one CPU stays free for the supervisor. At
// least 2.
int ThreadsWithOwnCpu();

class Program {
 public:
  // --seconds=S --steps-per-us=N --scale=LABEL:FRACTION --threads=N --plan=PLAN
  Program(int argc, char** argv);

  // How many threads a program of the wide ones has. By default ThreadsWithOwnCpu().
  int Threads() const { return threads_; }
  // What a program does that is not written in one file, or the number that it is drawn by.
  const std::string& Plan() const { return plan_; }

  // The number of steps of WORK that take `us`, times the label's scale.
  uint64_t Steps(const char* label, double us);
  // The number of repetitions of work that is not made of steps, times the label's scale.
  uint64_t Times(const char* label, uint64_t count);
  // The number of steps for a line that is not a line of interest.
  uint64_t OtherSteps(double us) const;

  // From here on visits count. To be called after Steps and Times for all labels.
  void Start();
  // True until the time is over. However busy the machine is, it stays true until there are enough
  // visits.
  bool Running() const { return NowNs() < end_ns_ || !HasEnoughVisits(); }

  // Prints the figures of the run; returns the exit status.
  int Finish();

 private:
  double ScaleOf(const char* label);

  double seconds_ = 1;
  double steps_per_us_ = 0;
  int threads_ = 0;
  std::string plan_ = "1";
  std::string scaled_label_;
  double scale_ = 1;
  bool scaled_ = false;
  uint64_t end_ns_ = 0;
};

// The number of steps of WORK in a us, from the shortest of many tries. A busy machine only makes a
// try longer.
double CalibrateStepsPerUs();

}  // namespace workload

#endif  // COZ_BENCH_ACCURACY_WORKLOAD_H_
