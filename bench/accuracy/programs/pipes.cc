// Rounds of two threads that wait for each other by reading from pipes.
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "bench/accuracy/workload.h"

namespace {

class Gate {
 public:
  Gate() {
    if (pipe(ends_) != 0) abort();
  }
  void Post() {
    if (write(ends_[1], "", 1) != 1) abort();
  }
  void Wait() {
    char token;
    if (read(ends_[0], &token, 1) != 1) abort();
  }

 private:
  int ends_[2];
};

}  // namespace

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t leader = program.Steps("leader", 1000);
  const uint64_t helper = program.Steps("helper", 700);
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
