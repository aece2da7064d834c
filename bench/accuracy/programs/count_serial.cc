// Rounds of work in two threads. One of them awaits their end by a count under a mutex, and then
// works alone. It has the longer share, so it does not wait.
#include <condition_variable>
#include <mutex>

#include "bench/accuracy/workload.h"

namespace {

class Count {
 public:
  void Add(int by) {
    const std::lock_guard<std::mutex> lock(mutex_);
    count_ += by;
    changed_.notify_all();
  }
  void WaitFor(int wanted) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return count_ == wanted; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t starter = program.Steps("starter", 900);
  const uint64_t helping = program.Steps("helping", 600);
  const uint64_t serial = program.Steps("serial", 300);
  program.Start();
  Count started;
  Count unfinished;
  bool is_over = false;  // written before the last start
  workload::Thread helper(1, [&] {
    uint64_t x = 1;
    for (;;) {
      started.WaitFor(1);
      started.Add(-1);
      if (is_over) break;
      WORK(x, helping);  // LINE(helping)
      unfinished.Add(-1);
    }
    workload::Keep(x);
  });
  workload::UseCpu(0);
  uint64_t x = 1;
  while (program.Running()) {
    unfinished.Add(1);
    started.Add(1);
    WORK(x, starter);  // LINE(starter)
    unfinished.WaitFor(0);
    WORK(x, serial);  // LINE(serial)
    VISIT("rounds");
  }
  is_over = true;
  started.Add(1);
  helper.join();
  workload::Keep(x);
  return program.Finish();
}
