// Gates by which the threads or processes of random.cc wait for each other, of all kinds.
//
// Shape    a gate counts posts; each Wait takes one of them. It lies in memory that a fork shares
// Units    none
// Errors   abort() where the system refuses memory, a pipe, a socket, or a read
// Threads  any number posts, any number waits
#ifndef COZ_BENCH_ACCURACY_PROGRAMS_GATES_H_
#define COZ_BENCH_ACCURACY_PROGRAMS_GATES_H_

#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

namespace random_program {

enum class Sharers { kThreads, kProcesses };

// What is shared stays until the program ends.
class Shared {
 public:
  static void* operator new(size_t size) {
    void* const memory =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    return memory;
  }
  static void operator delete(void*) {}
};

class Mutex {
 public:
  explicit Mutex(Sharers sharers) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, sharers == Sharers::kProcesses);
    pthread_mutex_init(&mutex_, &attributes);
  }
  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }
  pthread_mutex_t* get() { return &mutex_; }

 private:
  pthread_mutex_t mutex_;
};

class Condition {
 public:
  explicit Condition(Sharers sharers) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setpshared(&attributes, sharers == Sharers::kProcesses);
    pthread_cond_init(&condition_, &attributes);
  }
  void Wait(Mutex* mutex) { pthread_cond_wait(&condition_, mutex->get()); }
  void WakeOne() { pthread_cond_signal(&condition_); }

 private:
  pthread_cond_t condition_;
};

class Barrier {
 public:
  Barrier(Sharers sharers, unsigned count) {
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, sharers == Sharers::kProcesses);
    pthread_barrier_init(&barrier_, &attributes, count);
  }
  void Wait() { pthread_barrier_wait(&barrier_); }

 private:
  pthread_barrier_t barrier_;
};

class Gate : public Shared {
 public:
  virtual ~Gate() = default;
  virtual void Post() = 0;
  virtual void Wait() = 0;
};

class SemaphoreGate : public Gate {
 public:
  explicit SemaphoreGate(Sharers sharers) {
    sem_init(&semaphore_, sharers == Sharers::kProcesses, 0);
  }
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
  explicit ConditionGate(Sharers sharers) : mutex_(sharers), changed_(sharers) {}
  void Post() override {
    mutex_.lock();
    ++count_;
    changed_.WakeOne();
    mutex_.unlock();
  }
  void Wait() override {
    mutex_.lock();
    while (count_ == 0) changed_.Wait(&mutex_);
    --count_;
    mutex_.unlock();
  }

 private:
  Mutex mutex_;
  Condition changed_;
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
  explicit FutexGate(Sharers sharers)
      : flag_(sharers == Sharers::kProcesses ? 0 : FUTEX_PRIVATE_FLAG) {}
  void Post() override {
    count_.fetch_add(1, std::memory_order_release);
    syscall(SYS_futex, &count_, FUTEX_WAKE | flag_, 1, nullptr, nullptr, 0);
  }
  void Wait() override {
    while (!TakeOne(&count_)) {
      syscall(SYS_futex, &count_, FUTEX_WAIT | flag_, 0, nullptr, nullptr, 0);
    }
  }

 private:
  const int flag_;
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

// Post waits while it is full.
class QueueGate : public Gate {
 public:
  QueueGate(Sharers sharers, size_t capacity)
      : capacity_(capacity), mutex_(sharers), not_empty_(sharers), not_full_(sharers) {}
  void Post() override {
    mutex_.lock();
    while (count_ == capacity_) not_full_.Wait(&mutex_);
    ++count_;
    not_empty_.WakeOne();
    mutex_.unlock();
  }
  void Wait() override {
    mutex_.lock();
    while (count_ == 0) not_empty_.Wait(&mutex_);
    --count_;
    not_full_.WakeOne();
    mutex_.unlock();
  }

 private:
  const size_t capacity_;
  Mutex mutex_;
  Condition not_empty_;
  Condition not_full_;
  size_t count_ = 0;
};

// Null where there is no such kind. `capacity` is that of a queue.
inline std::unique_ptr<Gate> MakeGate(const std::string& kind, size_t capacity, Sharers sharers) {
  int ends[2];
  if (kind == "semaphore") return std::make_unique<SemaphoreGate>(sharers);
  if (kind == "condition") return std::make_unique<ConditionGate>(sharers);
  if (kind == "futex") return std::make_unique<FutexGate>(sharers);
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
  if (kind == "queue") return std::make_unique<QueueGate>(sharers, capacity);
  return nullptr;
}

}  // namespace random_program

#endif  // COZ_BENCH_ACCURACY_PROGRAMS_GATES_H_
