// Two stages with a short queue between them, which is made of a mutex and condition variables.
#include <condition_variable>
#include <deque>
#include <mutex>

#include "bench/accuracy/workload.h"

namespace {

class Queue {
 public:
  void Push(uint64_t item) {
    std::unique_lock<std::mutex> lock(mutex_);
    not_full_.wait(lock, [this] { return items_.size() < kCapacity; });
    items_.push_back(item);
    not_empty_.notify_one();
  }
  uint64_t Pop() {
    std::unique_lock<std::mutex> lock(mutex_);
    not_empty_.wait(lock, [this] { return !items_.empty(); });
    const uint64_t item = items_.front();
    items_.pop_front();
    not_full_.notify_one();
    return item;
  }

 private:
  static constexpr size_t kCapacity = 8;
  std::mutex mutex_;
  std::condition_variable not_full_;
  std::condition_variable not_empty_;
  std::deque<uint64_t> items_;
};

}  // namespace

int main(int argc, char** argv) {
  workload::Program program(argc, argv);
  const uint64_t produce = program.Steps("produce", 1000);
  const uint64_t consume = program.Steps("consume", 700);
  Queue queue;
  program.Start();
  workload::Thread consumer(1, [&] {
    uint64_t sum = 0;
    while (uint64_t item = queue.Pop()) {
      WORK(item, consume);  // LINE(consume)
      sum ^= item;
      VISIT("items");
    }
    workload::Keep(sum);
  });
  workload::UseCpu(0);
  uint64_t x = 1;
  while (program.Running()) {
    WORK(x, produce);  // LINE(produce)
    queue.Push(x | 1);
  }
  queue.Push(0);
  consumer.join();
  return program.Finish();
}
