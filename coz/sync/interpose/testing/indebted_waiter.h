// Objects that a thread of a test can wait for, and a thread that owes delay while it does.
//
// Shape    one object of each kind, with nothing that ends a wait for it; one thread in one wait
// Units    ns
// Errors   failed expectations; a state that is not reached in time ends the test process
// Threads  owner
// Signals  WaitObjects blocks SIGUSR1 in the calling thread, for good
// Source   none
#ifndef COZ_SYNC_INTERPOSE_TESTING_INDEBTED_WAITER_H_
#define COZ_SYNC_INTERPOSE_TESTING_INDEBTED_WAITER_H_

#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/types.h>
#include <threads.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "coz/base/clock.h"
#include "coz/sync/interpose/testing/fake_process.h"

namespace coz::testing {

inline constexpr uint64_t kDelayNs = 2 * kNsPerMs;
inline constexpr timespec kLong = {600, 0};

// Times of CLOCK_REALTIME and of CLOCK_MONOTONIC that are not reached while the test runs.
timespec FarRealtime();
timespec FarMonotonic();

// errno where `result` is -1, else the result.
int ErrorOf(long result);

// The objects of waits. No wait for them ends by itself.
struct WaitObjects {
  pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  mtx_t mtx;
  cnd_t cnd;
  sem_t semaphore;
  std::atomic<uint32_t> word{0};
  int pipe_fds[2];
  int full_pipe[2];
  int sockets[2];
  int listener;
  int epoll;
  int event;
  mqd_t queue;      // empty
  int semaphores;   // one of System V, with value 0
  int letters;      // an empty queue of System V
  int file;         // memory
  int locked_file;  // another opening of it, which holds all its locks of openings
  pid_t child;
  std::atomic<bool> joined_may_end{false};
  pthread_t joined;
  sigset_t usr1;
  sigset_t none;

  WaitObjects();
  ~WaitObjects();
};

// A thread that owes delay while it is in `wait`.
class IndebtedWaiter {
 public:
  IndebtedWaiter(FakeProcess& process, WaitObjects& objects,
                 const std::function<void(WaitObjects&)>& wait);
  void Cancel();
  void Join() { thread_.join(); }
  bool unwound() const { return unwound_; }
  bool returned() const { return returned_; }
  const delay::ThreadLedger& ledger() const { return *watched_.ledger; }

 private:
  WatchedThread watched_;
  std::atomic<bool> unwound_{false};
  std::atomic<bool> returned_{false};
  std::thread thread_;
};

}  // namespace coz::testing

#endif  // COZ_SYNC_INTERPOSE_TESTING_INDEBTED_WAITER_H_
