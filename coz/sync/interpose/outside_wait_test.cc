// Waits as units: which waits the outside has ended, how long they were, and what is paid after.
#include "coz/sync/interpose/outside_wait.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <mqueue.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "coz/base/clock.h"
#include "coz/base/raw_syscall.h"
#include "coz/sync/interpose/stdio_tables.h"
#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/testing/io_channel.h"

namespace coz::interpose {
namespace {

using delay::OutsideWait;
using delay::WaitKind;
using testing::FakeProcess;
using testing::NewEventfd;
using testing::NewPipe;
using testing::NewTcp4;
using testing::Receives;
using testing::Send;
using testing::SendFromOutside;
using testing::SharedChannel;
using testing::SleepsInKernel;
using testing::WaitUntil;

constexpr uint64_t kMs = 1'000'000;

class OutsideWaitTest : public ::testing::Test {
 protected:
  OutsideWaitTest() {
    waits_.clear();
    imposed_by_wait_ns_ = 0;
    own_waits_.clear();
    sync_internal::g_hooks.outside_wait = OnWait;
    sync_internal::g_hooks.own_wait = OnOwnWait;
  }
  ~OutsideWaitTest() override {
    sync_internal::g_hooks.outside_wait = nullptr;
    sync_internal::g_hooks.own_wait = nullptr;
  }

  // Runs `wait` in this thread. Once it sleeps in the kernel, another thread calls `wake`.
  static void WaitAndWake(const std::function<void()>& wait, const std::function<void()>& wake) {
    const pid_t waiter = gettid();
    std::thread waker([&] {
      WaitUntil("the thread waits", [&] { return SleepsInKernel(waiter); });
      // A wait of some microseconds is the call's own time.
      const uint64_t seen_ns = MonotonicNowNs();
      WaitUntil("it has waited for long", [&] { return MonotonicNowNs() > seen_ns + kMs; });
      wake();
    });
    wait();
    // The join is a wait for a thread.
    waker.join();
  }

  static std::vector<WaitKind> Kinds() {
    std::vector<WaitKind> kinds;
    kinds.reserve(waits_.size());
    for (const OutsideWait& wait : waits_) kinds.push_back(wait.kind);
    return kinds;
  }

  static inline std::vector<OutsideWait> waits_;
  static inline std::vector<OutsideWait> own_waits_;  // of the test's thread
  static inline uint64_t imposed_by_wait_ns_;
  FakeProcess process_;

  static void OnWait(delay::ThreadLedger& ledger, const OutsideWait& wait) {
    if (&ledger != LedgerSoFar()) abort();
    waits_.push_back(wait);
    if (imposed_by_wait_ns_ != 0) {
      delay::ImposeDelay(*sync_internal::g_ledger, ledger, imposed_by_wait_ns_);
    }
  }
  static void OnOwnWait(delay::ThreadLedger& ledger, const OutsideWait& wait) {
    if (&ledger != LedgerSoFar() || wait.kind != WaitKind::kNone) abort();
    if (gettid() == getpid()) own_waits_.push_back(wait);
  }
};

constexpr timespec kFiveMs = {0, 5 * static_cast<long>(kMs)};

TEST_F(OutsideWaitTest, SleepHasItsLength) {
  ASSERT_EQ(nanosleep(&kFiveMs, nullptr), 0);
  ASSERT_EQ(Kinds(), std::vector{WaitKind::kSleep});
  // Less the CPU time of the call.
  EXPECT_GE(waits_[0].blocked_ns, 4 * kMs);
  EXPECT_LE(waits_[0].blocked_ns, waits_[0].end_ns - waits_[0].start_ns);
}

TEST_F(OutsideWaitTest, InputFromOutsideIsAWaitAndFromAThreadIsNone) {
  const SharedChannel pipe = NewPipe();
  WaitAndWake([&] { EXPECT_TRUE(Receives(pipe->input)); }, [&] { SendFromOutside(pipe->output); });
  EXPECT_EQ(Kinds(), std::vector{WaitKind::kPipe});
  waits_.clear();
  WaitAndWake([&] { EXPECT_TRUE(Receives(pipe->input)); }, [&] { Send(pipe->output); });
  EXPECT_TRUE(waits_.empty());

  const SharedChannel tcp = NewTcp4();
  waits_.clear();
  WaitAndWake([&] { EXPECT_TRUE(Receives(tcp->input)); }, [&] { SendFromOutside(tcp->output); });
  EXPECT_EQ(Kinds(), std::vector{WaitKind::kNetwork});
  waits_.clear();
  WaitAndWake([&] { EXPECT_TRUE(Receives(tcp->input)); }, [&] { Send(tcp->output); });
  EXPECT_TRUE(waits_.empty());
}

// The first wait of each is that, and another may be for the end of the waker.
TEST_F(OutsideWaitTest, WaitsThatAThreadEndsAreOwnWaits) {
  const auto expect_own = [](const std::function<void()>& wait, const std::function<void()>& wake) {
    own_waits_.clear();
    WaitAndWake(wait, wake);
    ASSERT_FALSE(own_waits_.empty());
    EXPECT_GE(own_waits_[0].blocked_ns, kMs / 2);
    EXPECT_LE(own_waits_[0].blocked_ns, own_waits_[0].end_ns - own_waits_[0].start_ns);
    EXPECT_TRUE(waits_.empty());
  };
  const SharedChannel pipe = NewPipe();
  expect_own([&] { EXPECT_TRUE(Receives(pipe->input)); }, [&] { Send(pipe->output); });

  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  expect_own([&] { EXPECT_EQ(sem_wait(&semaphore), 0); }, [&] { sem_post(&semaphore); });

  std::mutex mutex;
  std::condition_variable condition;
  bool is_ready = false;
  expect_own(
      [&] {
        std::unique_lock<std::mutex> lock(mutex);
        condition.wait(lock, [&] { return is_ready; });
      },
      [&] {
        const std::lock_guard<std::mutex> lock(mutex);
        is_ready = true;
        condition.notify_one();
      });
}

TEST_F(OutsideWaitTest, WaitsForAThreadThatTimeOutAreOwnWaits) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  timespec deadline;
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_nsec += 200 * kMs;  // the call may begin late
  deadline.tv_sec += deadline.tv_nsec / 1'000'000'000;
  deadline.tv_nsec %= 1'000'000'000;
  EXPECT_EQ(sem_timedwait(&semaphore, &deadline), -1);
  EXPECT_EQ(errno, ETIMEDOUT);
  ASSERT_EQ(own_waits_.size(), 1u);
  EXPECT_GE(own_waits_[0].blocked_ns, 4 * kMs);
  EXPECT_TRUE(waits_.empty());
}

TEST_F(OutsideWaitTest, WaitsOfTheOutsideAreNoOwnWaits) {
  ASSERT_EQ(nanosleep(&kFiveMs, nullptr), 0);
  const SharedChannel pipe = NewPipe();
  pollfd one = {pipe->input, POLLIN, 0};
  EXPECT_EQ(poll(&one, 1, 5), 0);
  EXPECT_EQ(Kinds(), (std::vector{WaitKind::kSleep, WaitKind::kSleep}));
  EXPECT_TRUE(own_waits_.empty());
}

TEST_F(OutsideWaitTest, WhatIsThereAtOnceIsNoOwnWait) {
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 1);
  std::mutex mutex;
  sem_t semaphore;
  sem_init(&semaphore, 0, 100);
  for (int i = 0; i < 100; ++i) {
    const std::lock_guard<std::mutex> lock(mutex);
    EXPECT_EQ(sem_wait(&semaphore), 0);
    EXPECT_EQ(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
  }
  std::atomic<pid_t> tid{0};
  std::thread other([&] { tid = gettid(); });
  WaitUntil("the thread ends", [&] {
    return tid != 0 && access(("/proc/self/task/" + std::to_string(tid)).c_str(), F_OK) != 0;
  });
  other.join();
  EXPECT_TRUE(own_waits_.empty());
  pthread_barrier_destroy(&barrier);
}

// As where the profiler has left, and has come again for other units.
TEST_F(OutsideWaitTest, HooksMayBeGoneAtTheEndOfAWait) {
  const SharedChannel pipe = NewPipe();
  const auto receive = [&] { EXPECT_TRUE(Receives(pipe->input)); };
  WaitAndWake(receive, [&] {
    sync_internal::g_hooks.outside_wait = nullptr;
    sync_internal::g_hooks.own_wait = nullptr;
    SendFromOutside(pipe->output);
  });
  sync_internal::g_hooks.outside_wait = OnWait;
  sync_internal::g_hooks.own_wait = OnOwnWait;
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  WaitAndWake([&] { EXPECT_EQ(sem_wait(&semaphore), 0); },
              [&] {
                sync_internal::g_hooks.own_wait = nullptr;
                sem_post(&semaphore);
              });
  EXPECT_TRUE(waits_.empty());
  EXPECT_TRUE(own_waits_.empty());
}

TEST_F(OutsideWaitTest, InputThatIsThereIsNoWait) {
  const SharedChannel pipe = NewPipe();
  SendFromOutside(pipe->output);
  EXPECT_TRUE(Receives(pipe->input));
  EXPECT_TRUE(waits_.empty());
}

TEST_F(OutsideWaitTest, ClosingAnEndDoesNotMakeItOfTheProgram) {
  const SharedChannel pipe = NewPipe();
  const int other_end = dup(pipe->output);
  process_.Impose(kMs);
  EXPECT_EQ(close(pipe->output), 0);
  pipe->output = -1;
  WaitAndWake([&] { EXPECT_TRUE(Receives(pipe->input)); }, [&] { SendFromOutside(other_end); });
  EXPECT_EQ(Kinds(), std::vector{WaitKind::kPipe});
  close(other_end);
}

TEST_F(OutsideWaitTest, PollIsAWaitWhereAReadyDescriptorIsOfTheOutside) {
  const SharedChannel mine = NewPipe();
  const SharedChannel theirs = NewPipe();
  const auto wait = [&](int fd) {
    pollfd both[2] = {{mine->input, POLLIN, 0}, {theirs->input, POLLIN, 0}};
    EXPECT_EQ(poll(both, 2, -1), 1);
    EXPECT_TRUE(Receives(fd));
  };
  WaitAndWake([&] { wait(theirs->input); }, [&] { SendFromOutside(theirs->output); });
  EXPECT_EQ(Kinds(), std::vector{WaitKind::kPoll});
  waits_.clear();
  WaitAndWake([&] { wait(mine->input); }, [&] { Send(mine->output); });
  EXPECT_TRUE(waits_.empty());

  const auto select_one = [&](int fd) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(mine->input, &set);
    FD_SET(theirs->input, &set);
    EXPECT_EQ(select(FD_SETSIZE, &set, nullptr, nullptr, nullptr), 1);
    EXPECT_TRUE(Receives(fd));
  };
  waits_.clear();
  WaitAndWake([&] { select_one(theirs->input); }, [&] { SendFromOutside(theirs->output); });
  EXPECT_EQ(Kinds(), std::vector{WaitKind::kPoll});
  waits_.clear();
  WaitAndWake([&] { select_one(mine->input); }, [&] { Send(mine->output); });
  EXPECT_TRUE(waits_.empty());
}

// An eventfd of the program and a client of the outside in one instance.
TEST_F(OutsideWaitTest, EpollTellsWhoHasEndedThisWait) {
  const SharedChannel mine = NewEventfd();
  const SharedChannel theirs = NewPipe();
  const int epoll = epoll_create1(0);
  for (const int fd : {mine->input, theirs->input}) {
    epoll_event event = {EPOLLIN, {.fd = fd}};
    ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), 0);
  }
  const auto wait = [&](int fd) {
    epoll_event event = {};
    EXPECT_EQ(epoll_wait(epoll, &event, 1, -1), 1);
    EXPECT_EQ(event.data.fd, fd);
    EXPECT_TRUE(Receives(fd));
  };
  WaitAndWake([&] { wait(mine->input); }, [&] { Send(mine->output); });
  EXPECT_TRUE(waits_.empty());
  ASSERT_EQ(nanosleep(&kFiveMs, nullptr), 0);  // so that the wake is no recent one
  waits_.clear();
  WaitAndWake([&] { wait(theirs->input); }, [&] { SendFromOutside(theirs->output); });
  EXPECT_EQ(Kinds(), std::vector{WaitKind::kPoll});
  close(epoll);
}

TEST_F(OutsideWaitTest, TimeOutOfAPollIsASleep) {
  const SharedChannel pipe = NewPipe();
  pollfd one = {pipe->input, POLLIN, 0};
  EXPECT_EQ(poll(&one, 1, 5), 0);
  ASSERT_EQ(Kinds(), std::vector{WaitKind::kSleep});
  EXPECT_GE(waits_[0].blocked_ns, 4 * kMs);
  waits_.clear();
  EXPECT_EQ(poll(&one, 1, 0), 0);
  EXPECT_TRUE(waits_.empty());
}

TEST_F(OutsideWaitTest, EndOfAChildOfTheOutsideIsAWait) {
  const pid_t child = static_cast<pid_t>(RawSyscall(SYS_fork));
  ASSERT_GE(child, 0);
  if (child == 0) {
    RawSyscall(SYS_nanosleep, &kFiveMs, nullptr);
    RawSyscall(SYS_exit_group, 0);
  }
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(Kinds(), std::vector{WaitKind::kChild});
}

// A wait that the outside ends, and one that a thread ends.
TEST_F(OutsideWaitTest, LocksAndSemaphoresAndQueuesHaveKinds) {
  const auto expect = [](WaitKind kind, const std::function<void()>& wait,
                         const std::function<void()>& from_outside,
                         const std::function<void()>& wake) {
    waits_.clear();
    WaitAndWake(wait, from_outside);
    EXPECT_EQ(Kinds(), std::vector{kind});
    waits_.clear();
    WaitAndWake(wait, wake);
    EXPECT_TRUE(waits_.empty());
  };

  const int held = memfd_create("test", 0);
  const int wanted = open(("/proc/self/fd/" + std::to_string(held)).c_str(), O_RDWR);
  const auto wait_for_lock = [&] {
    EXPECT_EQ(flock(wanted, LOCK_EX), 0);
    RawSyscall(SYS_flock, wanted, LOCK_UN);
    RawSyscall(SYS_flock, held, LOCK_EX);
  };
  RawSyscall(SYS_flock, held, LOCK_EX);
  expect(
      WaitKind::kFileLock, wait_for_lock, [&] { RawSyscall(SYS_flock, held, LOCK_UN); },
      [&] { EXPECT_EQ(flock(held, LOCK_UN), 0); });
  close(held);
  close(wanted);

  const int set = semget(IPC_PRIVATE, 1, 0600);
  sembuf down = {0, -1, 0};
  sembuf up = {0, 1, 0};
  expect(
      WaitKind::kSemaphore, [&] { EXPECT_EQ(semop(set, &down, 1), 0); },
      [&] { RawSyscall(SYS_semop, set, &up, 1); }, [&] { EXPECT_EQ(semop(set, &up, 1), 0); });
  semctl(set, 0, IPC_RMID);

  const int letters = msgget(IPC_PRIVATE, 0600);
  const long letter[2] = {1, 0};
  const auto receive = [&] {
    long received[2];
    EXPECT_EQ(msgrcv(letters, received, sizeof(long), 0, 0), static_cast<ssize_t>(sizeof(long)));
  };
  expect(
      WaitKind::kMessages, receive,
      [&] { RawSyscall(SYS_msgsnd, letters, letter, sizeof(long), 0); },
      [&] { EXPECT_EQ(msgsnd(letters, letter, sizeof(long), 0), 0); });
  msgctl(letters, IPC_RMID, nullptr);

  const std::string name = "/coz-outside-" + std::to_string(getpid());
  const mqd_t queue = mq_open(name.c_str(), O_RDWR | O_CREAT, 0600, nullptr);
  ASSERT_GE(queue, 0);
  mq_unlink(name.c_str());
  expect(
      WaitKind::kMessages,
      [&] {
        static char message[8192];
        EXPECT_EQ(mq_receive(queue, message, sizeof(message), nullptr), 1);
      },
      [&] { RawSyscall(SYS_mq_timedsend, queue, "x", 1, 0, nullptr); },
      [&] { EXPECT_EQ(mq_send(queue, "x", 1, 0), 0); });
  mq_close(queue);
}

TEST_F(OutsideWaitTest, CallsThatMoveDataBetweenPipesAreWaits) {
  const SharedChannel from = NewPipe();
  const SharedChannel to = NewPipe();
  const auto copy = [&] { EXPECT_EQ(tee(from->input, to->output, 1, 0), 1); };
  WaitAndWake(copy, [&] { SendFromOutside(from->output); });
  EXPECT_EQ(Kinds(), std::vector{WaitKind::kPipe});
  EXPECT_TRUE(Receives(from->input));
  waits_.clear();
  WaitAndWake(copy, [&] { Send(from->output); });
  EXPECT_TRUE(waits_.empty());
}

TEST_F(OutsideWaitTest, StdioWaitsAreThoseOfItsDescriptors) {
  WrapStdio();
  const SharedChannel pipe = NewPipe();
  FILE* const in = fdopen(dup(pipe->input), "r");
  FILE* const out = fdopen(dup(pipe->output), "w");
  setvbuf(in, nullptr, _IONBF, 0);
  const auto get = [&] { EXPECT_EQ(getc(in), 'x'); };
  WaitAndWake(get, [&] { RawSyscall(SYS_write, pipe->output, "x", 1); });
  EXPECT_EQ(Kinds(), std::vector{WaitKind::kPipe});
  waits_.clear();
  WaitAndWake(get, [&] {
    putc('x', out);
    fflush(out);
  });
  EXPECT_TRUE(waits_.empty());
  FILE* const child = popen("sleep 0.02", "r");
  ASSERT_NE(child, nullptr);
  waits_.clear();
  EXPECT_EQ(pclose(child), 0);
  EXPECT_EQ(Kinds(), std::vector{WaitKind::kChild});
  fclose(in);
  fclose(out);
  UnwrapStdio();
}

TEST_F(OutsideWaitTest, FilesInMemoryAreNoWaits) {
  const int fd = memfd_create("test", 0);
  char page[4096] = {};
  EXPECT_EQ(pwrite(fd, page, sizeof(page), 0), 4096);
  EXPECT_EQ(pread(fd, page, sizeof(page), 0), 4096);
  EXPECT_EQ(fdatasync(fd), 0);
  EXPECT_TRUE(waits_.empty());
  close(fd);
}

TEST_F(OutsideWaitTest, FailedAndInterruptedCallsAreNone) {
  EXPECT_EQ(fsync(-1), -1);
  EXPECT_EQ(errno, EBADF);
  const SharedChannel pipe = NewPipe();
  char byte;
  EXPECT_EQ(read(pipe->output, &byte, 1), -1);
  EXPECT_EQ(errno, EBADF);
  EXPECT_TRUE(waits_.empty());
}

// The thread is ahead by 3 ms when it has waited, so of the 5 ms that it owes it pays 2.
TEST_F(OutsideWaitTest, LeadCountsAgainstWhatTheThreadOwes) {
  imposed_by_wait_ns_ = 3 * kMs;
  delay::ThreadLedger& ledger = process_.main_ledger();
  const uint64_t start_ns = process_.global().global_delay_ns;
  const SharedChannel pipe = NewPipe();
  // The thread owes nothing before it waits.
  WaitAndWake([&] { EXPECT_TRUE(Receives(pipe->input)); },
              [&] {
                process_.Impose(5 * kMs);
                SendFromOutside(pipe->output);
              });
  EXPECT_EQ(waits_.size(), 1u);
  EXPECT_EQ(ledger.imposed_ns, 3 * kMs);
  EXPECT_EQ(process_.global().global_delay_ns, start_ns + 5 * kMs);
  EXPECT_EQ(ledger.asked_ns, 2 * kMs);
}

// The same in a wait that times out: the time-out is put off by 2 ms only.
TEST_F(OutsideWaitTest, LeadCountsBeforeATimeOutIsPutOff) {
  imposed_by_wait_ns_ = 3 * kMs;
  const SharedChannel pipe = NewPipe();
  pollfd one = {pipe->input, POLLIN, 0};
  WaitAndWake([&] { EXPECT_EQ(poll(&one, 1, 300), 0); }, [&] { process_.Impose(5 * kMs); });
  EXPECT_EQ(Kinds(), std::vector{WaitKind::kSleep});
  EXPECT_EQ(process_.main_ledger().asked_ns, 2 * kMs);
}

TEST_F(OutsideWaitTest, NothingIsNotedWithoutTheHook) {
  sync_internal::g_hooks.outside_wait = nullptr;
  const SharedChannel pipe = NewPipe();
  WaitAndWake([&] { EXPECT_TRUE(Receives(pipe->input)); }, [&] { Send(pipe->output); });
  EXPECT_FALSE(IsWokenByTree(pipe->input, IoSide::kInput));
  ASSERT_EQ(nanosleep(&kFiveMs, nullptr), 0);
  EXPECT_TRUE(waits_.empty());
}

}  // namespace
}  // namespace coz::interpose
