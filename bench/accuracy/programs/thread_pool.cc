// The main thread gives a batch of tasks to a pool of two threads, waits for all tasks, and merges.
#include <condition_variable>
#include <deque>
#include <mutex>

#include "bench/accuracy/workload.h"

namespace {

class Pool {
 public:
  void Add(uint64_t task) {
    const std::lock_guard<std::mutex> lock(mutex_);
    tasks_.push_back(task);
    ++unfinished_;
    not_empty_.notify_one();
  }
  uint64_t Take() {
    std::unique_lock<std::mutex> lock(mutex_);
    not_empty_.wait(lock, [this] { return !tasks_.empty(); });
    const uint64_t task = tasks_.front();
    tasks_.pop_front();
    return task;
  }
  void Finished() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--unfinished_ == 0) all_finished_.notify_one();
  }
  void WaitForAll() {
    std::unique_lock<std::mutex> lock(mutex_);
    all_finished_.wait(lock, [this] { return unfinished_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable not_empty_;
  std::condition_variable all_finished_;
  std::deque<uint64_t> tasks_;
  int unfinished_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t task_steps = program.Steps("task", 300);
  const uint64_t merge = program.Steps("merge", 400);
  Pool pool;
  const auto worker = [&] {
    while (uint64_t task = pool.Take()) {
      WORK(task, task_steps);  // LINE(task)
      workload::Keep(task);
      pool.Finished();
    }
  };
  program.Start();
  workload::Thread first(0, worker);
  workload::Thread second(1, worker);
  workload::UseCpu(0);
  uint64_t x = 1;
  while (program.Running()) {
    for (uint64_t i = 0; i < 8; ++i) pool.Add(x | 1);
    pool.WaitForAll();
    WORK(x, merge);  // LINE(merge)
    VISIT("batches");
  }
  pool.Add(0);
  pool.Add(0);
  first.join();
  second.join();
  return program.Finish();
}
