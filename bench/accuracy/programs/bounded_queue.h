// A queue of a mutex and two conditions, as programs make them.
#ifndef COZ_BENCH_ACCURACY_PROGRAMS_BOUNDED_QUEUE_H_
#define COZ_BENCH_ACCURACY_PROGRAMS_BOUNDED_QUEUE_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

namespace workload {

class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  void Put(uint64_t item) {
    std::unique_lock<std::mutex> lock(mutex_);
    not_full_.wait(lock, [this] { return items_.size() < capacity_; });
    items_.push_back(item);
    not_empty_.notify_one();
  }
  uint64_t Take() {
    std::unique_lock<std::mutex> lock(mutex_);
    not_empty_.wait(lock, [this] { return !items_.empty(); });
    const uint64_t item = items_.front();
    items_.pop_front();
    not_full_.notify_one();
    return item;
  }

 private:
  const size_t capacity_;
  std::mutex mutex_;
  std::condition_variable not_empty_;
  std::condition_variable not_full_;
  std::deque<uint64_t> items_;
};

}  // namespace workload

#endif  // COZ_BENCH_ACCURACY_PROGRAMS_BOUNDED_QUEUE_H_
