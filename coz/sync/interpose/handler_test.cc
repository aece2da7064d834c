// What a wait returns when a signal handler interrupts it while delay is owed, and how much of its
// time is left.
#include <aio.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <string>
#include <thread>

#include "coz/base/raw_syscall.h"
#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/testing/indebted_waiter.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

using testing::ErrorOf;
using testing::FakeProcess;
using testing::FarMonotonic;
using testing::FarRealtime;
using testing::kDelayNs;
using testing::kLong;
using testing::SleepsInKernel;
using testing::WaitObjects;
using testing::WaitUntil;

char g_bytes[16];

enum class Caller { kNotProfiled, kProfiled, kOwesDelay };

// Returns the result of `wait`, which a handler interrupts. If the wait goes on, `finish` ends it.
int Interrupted(FakeProcess& process, Caller caller, int flags, const std::function<int()>& wait,
                const std::function<void()>& finish) {
  struct sigaction action = {};
  static std::atomic<int> handled;
  handled = 0;
  action.sa_handler = [](int) { ++handled; };
  action.sa_flags = flags;
  EXPECT_EQ(sigaction(SIGUSR2, &action, nullptr), 0);
  std::atomic<pid_t> tid{0};
  std::atomic<bool> returned{false};
  int result = 0;
  std::thread thread([&] {
    if (caller == Caller::kNotProfiled) LeaveThreadSync();
    tid = static_cast<pid_t>(RawSyscall(SYS_gettid));
    result = wait();
    returned = true;
  });
  WaitUntil("it waits", [&] { return SleepsInKernel(tid); });
  if (caller == Caller::kOwesDelay) process.Impose(kDelayNs);
  g_real.pthread_kill(thread.native_handle(), SIGUSR2);
  WaitUntil("the handler has run", [&] { return handled == 1; });
  WaitUntil("it returns or waits again", [&] { return returned || SleepsInKernel(tid); });
  finish();
  thread.join();
  return result;
}

// Whether `rest` can be left of a sleep of 600 s. The kernel counts up to the latest end of the
// timer, with its slack. So a sleep that is interrupted at once has more than 600 s left
// (kernel/time/hrtimer.c, hrtimer_expires_remaining).
bool IsPartOf600s(const timespec& rest) {
  const long slack_ns = prctl(PR_GET_TIMERSLACK);
  const long rest_ns = rest.tv_sec * 1000000000 + rest.tv_nsec;
  return rest.tv_sec >= 0 && rest_ns > 0 && rest_ns < 600L * 1000000000 + slack_ns;
}

struct InterruptedWait {
  const char* name;
  int by_handler;     // the result after a handler
  int by_restarting;  // the result after one with SA_RESTART: EINTR, or 0 where it goes on
  std::function<int(WaitObjects&)> wait;
  std::function<void(WaitObjects&)> finish = [](WaitObjects&) {};
};

// The results are those of signal(7), with one exception: a futex with a time-out is not restarted,
// since its rest is kept in a restart block (kernel/futex/waitwake.c).
const InterruptedWait kInterruptedWaits[] = {
    {"nanosleep", EINTR, EINTR,
     [](WaitObjects&) {
       timespec rest = {};
       const int error = ErrorOf(nanosleep(&kLong, &rest));
       EXPECT_TRUE(IsPartOf600s(rest)) << rest.tv_sec;
       return error;
     }},
    {"clock_nanosleep", EINTR, EINTR,
     [](WaitObjects&) {
       timespec rest = {};
       const int error = clock_nanosleep(CLOCK_MONOTONIC, 0, &kLong, &rest);
       EXPECT_TRUE(IsPartOf600s(rest)) << rest.tv_sec;
       return error;
     }},
    {"clock_nanosleep_until", EINTR, EINTR,
     [](WaitObjects&) {
       const timespec far = FarMonotonic();
       timespec rest = {77, 7};
       const int error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &far, &rest);
       EXPECT_EQ(rest.tv_sec, 77);
       return error;
     }},
    {"sleep", EINTR, EINTR,
     [](WaitObjects&) {
       const unsigned rest_s = sleep(600);
       EXPECT_GT(rest_s, 0u);
       return rest_s <= 600 ? EINTR : 0;
     }},
    {"usleep", EINTR, EINTR, [](WaitObjects&) { return ErrorOf(usleep(900 * 1000 * 1000)); }},
    {"poll", EINTR, EINTR, [](WaitObjects&) { return ErrorOf(poll(nullptr, 0, 600 * 1000)); }},
    {"ppoll", EINTR, EINTR,
     [](WaitObjects&) { return ErrorOf(ppoll(nullptr, 0, &kLong, nullptr)); }},
    {"select", EINTR, EINTR,
     [](WaitObjects&) {
       timeval rest = {600, 0};
       const int error = ErrorOf(select(0, nullptr, nullptr, nullptr, &rest));
       EXPECT_TRUE(IsPartOf600s({rest.tv_sec, rest.tv_usec * 1000})) << rest.tv_sec;
       return error;
     }},
    {"pselect", EINTR, EINTR,
     [](WaitObjects&) { return ErrorOf(pselect(0, nullptr, nullptr, nullptr, &kLong, nullptr)); }},
    {"epoll_wait", EINTR, EINTR,
     [](WaitObjects& o) {
       epoll_event event;
       return ErrorOf(epoll_wait(o.epoll, &event, 1, -1));
     }},
    {"sigtimedwait", EINTR, EINTR,
     [](WaitObjects& o) { return ErrorOf(sigtimedwait(&o.usr1, nullptr, &kLong)); }},
    {"sem_wait", EINTR, 0, [](WaitObjects& o) { return ErrorOf(sem_wait(&o.semaphore)); },
     [](WaitObjects& o) { g_real.sem_post(&o.semaphore); }},
    {"sem_timedwait", EINTR, EINTR,
     [](WaitObjects& o) {
       const timespec far = FarRealtime();
       return ErrorOf(sem_timedwait(&o.semaphore, &far));
     },
     [](WaitObjects& o) { g_real.sem_post(&o.semaphore); }},
    {"futex_wait", EINTR, 0,
     [](WaitObjects& o) {
       return ErrorOf(syscall(SYS_futex, &o.word, FUTEX_WAIT_PRIVATE, 0, nullptr));
     },
     [](WaitObjects& o) {
       RawSyscall(SYS_futex, &o.word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
     }},
    {"read", EINTR, 0,
     [](WaitObjects& o) {
       const int result = ErrorOf(read(o.pipe_fds[0], g_bytes, 1));
       return result == 1 ? 0 : result;
     },
     [](WaitObjects& o) { RawSyscall(SYS_write, o.pipe_fds[1], "x", 1); }},
    {"mq_receive", EINTR, 0,
     [](WaitObjects& o) {
       static char message[8192];
       const int result = ErrorOf(mq_receive(o.queue, message, sizeof(message), nullptr));
       return result == 1 ? 0 : result;
     },
     [](WaitObjects& o) { RawSyscall(SYS_mq_timedsend, o.queue, "x", 1, 0, nullptr); }},
    {"semop", EINTR, EINTR,
     [](WaitObjects& o) {
       sembuf down = {0, -1, 0};
       return ErrorOf(semop(o.semaphores, &down, 1));
     }},
    {"msgrcv", EINTR, EINTR,
     [](WaitObjects& o) {
       long message[2];
       return ErrorOf(msgrcv(o.letters, message, sizeof(long), 0, 0));
     }},
    {"flock", EINTR, 0, [](WaitObjects& o) { return ErrorOf(flock(o.file, LOCK_EX)); },
     [](WaitObjects& o) { RawSyscall(SYS_flock, o.locked_file, LOCK_UN); }},
    {"fcntl_lock", EINTR, 0,
     [](WaitObjects& o) {
       struct flock all = {};
       all.l_type = F_WRLCK;
       return ErrorOf(fcntl(o.file, F_OFD_SETLKW, &all));
     },
     [](WaitObjects& o) {
       struct flock all = {};
       all.l_type = F_UNLCK;
       RawSyscall(SYS_fcntl, o.locked_file, F_OFD_SETLK, &all);
     }},
    {"aio_suspend", EINTR, EINTR,
     [](WaitObjects& o) {
       aiocb request = {};
       request.aio_fildes = o.pipe_fds[0];
       request.aio_buf = g_bytes;
       request.aio_nbytes = 1;
       EXPECT_EQ(aio_read(&request), 0);
       const aiocb* const list[] = {&request};
       const int error = ErrorOf(aio_suspend(list, 1, &kLong));
       RawSyscall(SYS_write, o.pipe_fds[1], "x", 1);
       while (aio_error(&request) == EINPROGRESS) RawSyscall(SYS_sched_yield);
       return error;
     }},
    {"waitpid", EINTR, 0,
     [](WaitObjects& o) {
       const int result = ErrorOf(waitpid(o.child, nullptr, 0));
       return result == o.child ? 0 : result;
     },
     [](WaitObjects& o) { RawSyscall(SYS_kill, o.child, SIGKILL); }},
    // POSIX does not let these return EINTR.
    {"mutex_lock", 0, 0, [](WaitObjects& o) { return pthread_mutex_lock(&o.held); },
     [](WaitObjects& o) { g_real.pthread_mutex_unlock(&o.held); }},
    {"mutex_timedlock", 0, 0,
     [](WaitObjects& o) {
       const timespec far = FarRealtime();
       return pthread_mutex_timedlock(&o.held, &far);
     },
     [](WaitObjects& o) { g_real.pthread_mutex_unlock(&o.held); }},
    {"join", 0, 0,
     [](WaitObjects& o) {
       const timespec far = FarRealtime();
       const int result = pthread_timedjoin_np(o.joined, nullptr, &far);
       if (result != 0) return result;
       const auto nothing = [](void*) -> void* { return nullptr; };
       return g_real.pthread_create(&o.joined, nullptr, nothing, nullptr);
     },
     [](WaitObjects& o) { o.joined_may_end = true; }},
};

class InterruptedWaitTest : public ::testing::TestWithParam<InterruptedWait> {
 protected:
  void ExpectResult(Caller caller, int flags, int expected) {
    WaitObjects objects;
    EXPECT_EQ(Interrupted(
                  process_, caller, flags, [&] { return GetParam().wait(objects); },
                  [&] { GetParam().finish(objects); }),
              expected)
        << "caller " << static_cast<int>(caller) << ", flags " << flags;
  }

  FakeProcess process_;
};

TEST_P(InterruptedWaitTest, AnswersAsLibc) {
  for (const Caller caller : {Caller::kNotProfiled, Caller::kProfiled, Caller::kOwesDelay}) {
    ExpectResult(caller, 0, GetParam().by_handler);
    ExpectResult(caller, SA_RESTART, GetParam().by_restarting);
  }
}

INSTANTIATE_TEST_SUITE_P(AllCalls, InterruptedWaitTest, ::testing::ValuesIn(kInterruptedWaits),
                         [](const auto& wait) { return std::string(wait.param.name); });

}  // namespace
}  // namespace coz::interpose
