// What each thread of the target has done: under which name, from when to when, how many samples,
// how much CPU time, and how often it has visited each place that is counted.
//
// Shape    a list of threads. ThreadWatch takes those that end out of the block's ring as they
//          come; ReadThreads reads what is there, and changes nothing
// Units    sampling periods; visits; ns of CLOCK_MONOTONIC and of CPU time
// Errors   threads that found the ring full are one entry without a name
// Threads  compatible
// Signals  none
// Source   coz/shared/thread_figures.h; proc(5) for schedstat
#ifndef COZ_SUPERVISOR_TARGET_THREAD_WATCH_H_
#define COZ_SUPERVISOR_TARGET_THREAD_WATCH_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "coz/shared/control_block.h"

namespace coz::supervisor {

// Of calls whose end was seen.
struct TimedCalls {
  uint32_t counter = 0;  // index of the point slot
  uint64_t calls = 0;
  uint64_t wall_ns = 0;
  uint64_t cpu_ns = 0;  // by samples
};

struct ThreadUse {
  int32_t pid = 0;
  int32_t tid = 0;  // 0: of several threads of one name
  std::string name;
  uint32_t threads = 1;
  uint64_t start_ns = 0;  // of the first
  uint64_t end_ns = 0;    // of the last; 0: it runs
  uint64_t samples = 0;
  uint64_t samples_in_scope = 0;
  uint64_t cpu_ns = 0;
  bool is_in_scope = true;
  std::vector<uint64_t> visits;   // by the index of the point slot
  std::vector<TimedCalls> timed;  // in the order of the functions
};

// A place that is counted for each thread.
struct ThreadCounter {
  std::string name;  // that of a function of a library by caller has shared::kApiSeparator in it
  bool is_timed = false;
  bool ends_in_jump = false;  // to another function, whose time is not in its own
};

// By the index of the point slot. The names of pairs are empty.
std::vector<ThreadCounter> ThreadCounters(const shared::ControlBlock& control);

// Threads that run, and the last ones that have ended.
std::vector<ThreadUse> ReadThreads(const shared::ControlBlock& control);

class ThreadWatch {
 public:
  explicit ThreadWatch(shared::ControlBlock* control);

  // Takes what has ended since the last call, as often as wanted.
  void Poll();

  // All threads so far, ended ones first. The first 1,000 that have ended stand alone.
  std::vector<ThreadUse> Threads();

 private:
  void Keep(ThreadUse thread);
  bool GiveUp(uint64_t now_ns);

  shared::ControlBlock& control_;
  uint64_t read_;  // entries of the ring so far
  std::vector<ThreadUse> alone_;
  std::map<std::string, ThreadUse> by_name_;
  uint64_t stuck_since_ns_ = 0;  // the next entry's writer is still at it; 0: there is none
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_THREAD_WATCH_H_
