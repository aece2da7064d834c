// Rounds much shorter than the sampling period.
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "bench/accuracy/workload.h"

namespace {

class Gate {
 public:
  void Post() {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    opened_.notify_one();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
    open_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t leader = program.Steps("leader", 100);
  const uint64_t helper = program.Steps("helper", 150);
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
