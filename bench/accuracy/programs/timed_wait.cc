// Rounds of two threads that wait with std::condition_variable::wait_for.
#include <atomic>
#include <chrono>
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
    while (!opened_.wait_for(lock, std::chrono::milliseconds(500), [this] { return open_; })) {
    }
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
  const uint64_t leader = program.Steps("leader", 700);
  const uint64_t helper = program.Steps("helper", 1000);
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
