// Rounds of two threads that start together and wait for each other. The longer one sets the pace.
//
// Shape    RunRounds<Gate> is the whole program. A Gate has Post(), which opens it, and Wait(),
//          which passes through it and closes it
// Units    us of work
// Errors   as Program
// Threads  two of its own
// Signals  none
// Source   none
#ifndef COZ_BENCH_ACCURACY_PROGRAMS_ROUNDS_H_
#define COZ_BENCH_ACCURACY_PROGRAMS_ROUNDS_H_

#include <atomic>

#include "bench/accuracy/workload.h"

namespace rounds {

template <typename Gate>
int RunRounds(int argc, char** argv, double leader_us, double helper_us) {
  workload::Program program(argc, argv);
  const uint64_t leader = program.Steps("leader", leader_us);
  const uint64_t helper = program.Steps("helper", helper_us);
  Gate start;
  Gate done;
  std::atomic<bool> stop{false};
  program.Start();
  workload::Thread other(1, [&] {
    uint64_t x = 1;
    while (start.Wait(), !stop) {
      WORK(x, helper);  // LINE(helper)
      done.Post();
    }
    workload::Keep(x);
  });
  workload::UseCpu(0);
  uint64_t x = 1;
  while (program.Running()) {
    start.Post();
    WORK(x, leader);  // LINE(leader)
    done.Wait();
    VISIT("rounds");
  }
  stop = true;
  start.Post();
  other.join();
  workload::Keep(x);
  return program.Finish();
}

}  // namespace rounds

#endif  // COZ_BENCH_ACCURACY_PROGRAMS_ROUNDS_H_
