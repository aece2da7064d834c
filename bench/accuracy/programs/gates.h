// Gates by which the threads of random.cc wait for each other, of all kinds.
//
// Shape    a gate counts posts; each Wait takes one of them
// Units    none
// Errors   abort() where the system refuses a pipe, a socket, or a read
// Threads  any number posts, any number waits
#ifndef COZ_BENCH_ACCURACY_PROGRAMS_GATES_H_
#define COZ_BENCH_ACCURACY_PROGRAMS_GATES_H_

#include <linux/futex.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

#include "bench/accuracy/programs/bounded_queue.h"

namespace random_program {

class Gate {
 public:
  virtual ~Gate() = default;
  virtual void Post() = 0;
  virtual void Wait() = 0;
};

class SemaphoreGate : public Gate {
 public:
  SemaphoreGate() { sem_init(&semaphore_, 0, 0); }
  void Post() override { sem_post(&semaphore_); }
  void Wait() override {
    while (sem_wait(&semaphore_) != 0) {
    }
  }

 private:
  sem_t semaphore_;
};

class ConditionGate : public Gate {
 public:
  void Post() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++count_;
    changed_.notify_one();
  }
  void Wait() override {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return count_ > 0; });
    --count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

// Wait reads what Post writes.
class FileGate : public Gate {
 public:
  FileGate(int in, int out, bool polls) : in_(in), out_(out), polls_(polls) {}
  void Post() override {
    const uint64_t one = 1;
    if (write(out_, &one, sizeof(one)) != sizeof(one)) abort();
  }
  void Wait() override {
    if (polls_) {
      pollfd waited = {in_, POLLIN, 0};
      while (poll(&waited, 1, -1) != 1) {
      }
    }
    uint64_t one;
    if (read(in_, &one, sizeof(one)) != sizeof(one)) abort();
  }

 private:
  const int in_;
  const int out_;
  const bool polls_;
};

// Returns false where there is none.
inline bool TakeOne(std::atomic<int>* count) {
  int posts = count->load(std::memory_order_acquire);
  while (posts > 0) {
    if (count->compare_exchange_weak(posts, posts - 1, std::memory_order_acquire)) return true;
  }
  return false;
}

class FutexGate : public Gate {
 public:
  void Post() override {
    count_.fetch_add(1, std::memory_order_release);
    syscall(SYS_futex, &count_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
  void Wait() override {
    while (!TakeOne(&count_)) {
      syscall(SYS_futex, &count_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    }
  }

 private:
  std::atomic<int> count_{0};
};

class SpinGate : public Gate {
 public:
  void Post() override { count_.fetch_add(1, std::memory_order_release); }
  void Wait() override {
    while (!TakeOne(&count_)) __builtin_ia32_pause();
  }

 private:
  std::atomic<int> count_{0};
};

class QueueGate : public Gate {
 public:
  explicit QueueGate(size_t capacity) : queue_(capacity) {}
  void Post() override { queue_.Put(1); }
  void Wait() override { queue_.Take(); }

 private:
  workload::BoundedQueue queue_;
};

// Null where there is no such kind. `capacity` is that of a queue.
inline std::unique_ptr<Gate> MakeGate(const std::string& kind, size_t capacity) {
  int ends[2];
  if (kind == "semaphore") return std::make_unique<SemaphoreGate>();
  if (kind == "condition") return std::make_unique<ConditionGate>();
  if (kind == "futex") return std::make_unique<FutexGate>();
  if (kind == "spin") return std::make_unique<SpinGate>();
  if (kind == "pipe" || kind == "polled") {
    if (pipe(ends) != 0) abort();
    return std::make_unique<FileGate>(ends[0], ends[1], kind == "polled");
  }
  if (kind == "socket") {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) abort();
    return std::make_unique<FileGate>(ends[0], ends[1], /*polls=*/false);
  }
  if (kind == "eventfd") {
    const int fd = eventfd(0, EFD_SEMAPHORE);
    return std::make_unique<FileGate>(fd, fd, /*polls=*/false);
  }
  if (kind == "queue") return std::make_unique<QueueGate>(capacity);
  return nullptr;
}

}  // namespace random_program

#endif  // COZ_BENCH_ACCURACY_PROGRAMS_GATES_H_
