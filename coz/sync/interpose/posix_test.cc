// What POSIX says about cancelled waits and invalid arguments holds while delay is owed.
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
#include <sys/eventfd.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>
#include <thread>
#include <vector>

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
using testing::IndebtedWaiter;
using testing::kDelayNs;
using testing::kLong;
using testing::WaitObjects;

struct NamedWait {
  const char* name;
  std::function<void(WaitObjects&)> wait;
};

char g_bytes[16];
constexpr size_t kMessageBytes = 8192;  // as long as messages of a queue may be by default
char g_message[kMessageBytes];
iovec g_parts[] = {{g_bytes, sizeof(g_bytes)}};

void ReadSelect(WaitObjects& o, const std::function<void(int, fd_set*)>& wait) {
  fd_set input;
  FD_ZERO(&input);
  FD_SET(o.pipe_fds[0], &input);
  wait(o.pipe_fds[0] + 1, &input);
}

// Every wrapped call that is a cancellation point in glibc. XSH 2.9.5.2 says that it shall or may
// be one.
const NamedWait kCancellationPoints[] = {
    {"cond_wait",
     [](WaitObjects& o) {
       g_real.pthread_mutex_lock(&o.mutex);
       pthread_cond_wait(&o.condition, &o.mutex);
     }},
    {"cond_timedwait",
     [](WaitObjects& o) {
       const timespec far = FarRealtime();
       g_real.pthread_mutex_lock(&o.mutex);
       pthread_cond_timedwait(&o.condition, &o.mutex, &far);
     }},
    {"cond_clockwait",
     [](WaitObjects& o) {
       const timespec far = FarMonotonic();
       g_real.pthread_mutex_lock(&o.mutex);
       pthread_cond_clockwait(&o.condition, &o.mutex, CLOCK_MONOTONIC, &far);
     }},
    {"cnd_wait",
     [](WaitObjects& o) {
       g_real.mtx_lock(&o.mtx);
       cnd_wait(&o.cnd, &o.mtx);
     }},
    {"join", [](WaitObjects& o) { pthread_join(o.joined, nullptr); }},
    {"timedjoin",
     [](WaitObjects& o) {
       const timespec far = FarRealtime();
       pthread_timedjoin_np(o.joined, nullptr, &far);
     }},
    {"clockjoin",
     [](WaitObjects& o) {
       const timespec far = FarMonotonic();
       pthread_clockjoin_np(o.joined, nullptr, CLOCK_MONOTONIC, &far);
     }},
    {"thrd_join", [](WaitObjects& o) { thrd_join(o.joined, nullptr); }},
    {"sem_wait", [](WaitObjects& o) { sem_wait(&o.semaphore); }},
    {"sem_timedwait",
     [](WaitObjects& o) {
       const timespec far = FarRealtime();
       sem_timedwait(&o.semaphore, &far);
     }},
    {"sem_clockwait",
     [](WaitObjects& o) {
       const timespec far = FarMonotonic();
       sem_clockwait(&o.semaphore, CLOCK_MONOTONIC, &far);
     }},
    {"sigwait",
     [](WaitObjects& o) {
       int signal;
       sigwait(&o.usr1, &signal);
     }},
    {"sigwaitinfo", [](WaitObjects& o) { sigwaitinfo(&o.usr1, nullptr); }},
    {"sigtimedwait", [](WaitObjects& o) { sigtimedwait(&o.usr1, nullptr, &kLong); }},
    {"sigsuspend", [](WaitObjects& o) { sigsuspend(&o.none); }},
    {"pause", [](WaitObjects&) { pause(); }},
    {"poll", [](WaitObjects&) { poll(nullptr, 0, -1); }},
    {"ppoll", [](WaitObjects&) { ppoll(nullptr, 0, &kLong, nullptr); }},
    {"select",
     [](WaitObjects& o) {
       ReadSelect(o, [](int count, fd_set* input) {
         timeval time = {600, 0};
         select(count, input, nullptr, nullptr, &time);
       });
     }},
    {"pselect",
     [](WaitObjects& o) {
       ReadSelect(o, [](int count, fd_set* input) {
         pselect(count, input, nullptr, nullptr, &kLong, nullptr);
       });
     }},
    {"epoll_wait",
     [](WaitObjects& o) {
       epoll_event event;
       epoll_wait(o.epoll, &event, 1, -1);
     }},
    {"epoll_pwait",
     [](WaitObjects& o) {
       epoll_event event;
       epoll_pwait(o.epoll, &event, 1, -1, &o.none);
     }},
    {"epoll_pwait2",
     [](WaitObjects& o) {
       epoll_event event;
       epoll_pwait2(o.epoll, &event, 1, &kLong, nullptr);
     }},
    {"read", [](WaitObjects& o) { EXPECT_EQ(read(o.pipe_fds[0], g_bytes, 1), 1); }},
    {"readv", [](WaitObjects& o) { EXPECT_EQ(readv(o.pipe_fds[0], g_parts, 1), 1); }},
    {"write", [](WaitObjects& o) { EXPECT_EQ(write(o.full_pipe[1], g_bytes, 1), 1); }},
    {"writev", [](WaitObjects& o) { EXPECT_EQ(writev(o.full_pipe[1], g_parts, 1), 1); }},
    {"eventfd_read",
     [](WaitObjects& o) {
       eventfd_t value;
       eventfd_read(o.event, &value);
     }},
    {"recv", [](WaitObjects& o) { recv(o.sockets[0], g_bytes, 1, 0); }},
    {"recvfrom", [](WaitObjects& o) { recvfrom(o.sockets[0], g_bytes, 1, 0, nullptr, nullptr); }},
    {"recvmsg",
     [](WaitObjects& o) {
       msghdr message = {};
       message.msg_iov = g_parts;
       message.msg_iovlen = 1;
       EXPECT_EQ(recvmsg(o.sockets[0], &message, 0), 1);
     }},
    {"accept", [](WaitObjects& o) { accept(o.listener, nullptr, nullptr); }},
    {"accept4", [](WaitObjects& o) { accept4(o.listener, nullptr, nullptr, 0); }},
    {"mq_receive", [](WaitObjects& o) { mq_receive(o.queue, g_message, kMessageBytes, nullptr); }},
    {"mq_timedreceive",
     [](WaitObjects& o) {
       const timespec far = FarRealtime();
       mq_timedreceive(o.queue, g_message, kMessageBytes, nullptr, &far);
     }},
    {"msgrcv", [](WaitObjects& o) { msgrcv(o.letters, g_message, 8, 0, 0); }},
    {"fcntl_lock",
     [](WaitObjects& o) {
       struct flock all = {};
       all.l_type = F_WRLCK;
       fcntl(o.file, F_OFD_SETLKW, &all);
     }},
    {"preadv2", [](WaitObjects& o) { EXPECT_EQ(preadv2(o.pipe_fds[0], g_parts, 1, -1, 0), 1); }},
    {"pwritev2", [](WaitObjects& o) { EXPECT_EQ(pwritev2(o.full_pipe[1], g_parts, 1, -1, 0), 1); }},
    {"tee", [](WaitObjects& o) { tee(o.pipe_fds[0], o.full_pipe[1], 1, 0); }},
    {"vmsplice", [](WaitObjects& o) { vmsplice(o.full_pipe[1], g_parts, 1, 0); }},
    {"aio_suspend",
     [](WaitObjects& o) {
       // A thread of libc uses the request until the pipe is closed.
       auto* const request = new aiocb();
       request->aio_fildes = o.pipe_fds[0];
       request->aio_buf = g_bytes;
       request->aio_nbytes = 1;
       EXPECT_EQ(aio_read(request), 0);
       const aiocb* const list[] = {request};
       aio_suspend(list, 1, &kLong);
     }},
    {"nanosleep", [](WaitObjects&) { nanosleep(&kLong, nullptr); }},
    {"clock_nanosleep", [](WaitObjects&) { clock_nanosleep(CLOCK_MONOTONIC, 0, &kLong, nullptr); }},
    {"usleep", [](WaitObjects&) { usleep(900 * 1000 * 1000); }},
    {"sleep", [](WaitObjects&) { sleep(600); }},
    {"thrd_sleep", [](WaitObjects&) { thrd_sleep(&kLong, nullptr); }},
    {"wait", [](WaitObjects&) { wait(nullptr); }},
    {"waitpid", [](WaitObjects& o) { waitpid(o.child, nullptr, 0); }},
    {"wait3", [](WaitObjects&) { wait3(nullptr, 0, nullptr); }},
    {"wait4", [](WaitObjects& o) { wait4(o.child, nullptr, 0, nullptr); }},
    {"waitid",
     [](WaitObjects& o) {
       siginfo_t info;
       waitid(P_PID, static_cast<id_t>(o.child), &info, WEXITED);
     }},
};

class CancellationPointTest : public ::testing::TestWithParam<NamedWait> {
 protected:
  FakeProcess process_;
};

TEST_P(CancellationPointTest, IsCancelledAndThenPays) {
  WaitObjects objects;
  IndebtedWaiter waiter(process_, objects, GetParam().wait);
  waiter.Cancel();
  waiter.Join();
  EXPECT_TRUE(waiter.unwound());
  EXPECT_FALSE(waiter.returned());
  EXPECT_GE(waiter.ledger().paused_ns, kDelayNs);
  EXPECT_EQ(waiter.ledger().credited_ns, 0u);
  EXPECT_EQ(waiter.ledger().blocked, 0u);
}

INSTANTIATE_TEST_SUITE_P(AllCalls, CancellationPointTest, ::testing::ValuesIn(kCancellationPoints),
                         [](const auto& wait) { return std::string(wait.param.name); });

class InterposePosixTest : public ::testing::Test {
 protected:
  // Runs `call` in a thread that owes delay and has a cancellation pending.
  void ExpectActsOnPendingCancellation(const std::function<void()>& call) {
    bool went_on = false;
    std::thread thread([&] {
      process_.Impose(kDelayNs);
      pthread_cancel(pthread_self());
      call();
      went_on = true;
    });
    thread.join();
    EXPECT_FALSE(went_on);
  }

  FakeProcess process_;
};

TEST_F(InterposePosixTest, PendingCancellationIsActedOnBeforeAnythingIsTaken) {
  WaitObjects objects;
  ASSERT_EQ(RawSyscall(SYS_write, objects.pipe_fds[1], "x", 1), 1);
  ExpectActsOnPendingCancellation([&] { EXPECT_EQ(read(objects.pipe_fds[0], g_bytes, 1), -2); });
  pollfd input = {objects.pipe_fds[0], POLLIN, 0};
  EXPECT_EQ(g_real.poll(&input, 1, 0), 1);

  ASSERT_EQ(kill(getpid(), SIGUSR1), 0);
  int signal = 0;
  ExpectActsOnPendingCancellation([&] { sigwait(&objects.usr1, &signal); });
  EXPECT_EQ(sigwait(&objects.usr1, &signal), 0);
}

TEST_F(InterposePosixTest, CleanupHandlersOfAnExitingDebtorSynchronise) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, nullptr,
                [](void* posted) -> void* {
                  pthread_cleanup_push([](void* p) { sem_post(static_cast<sem_t*>(p)); }, posted);
                  sync_internal::g_ledger->global_delay_ns += kDelayNs;
                  pthread_exit(posted);
                  pthread_cleanup_pop(0);
                  return nullptr;
                },
                &semaphore),
            0);
  EXPECT_EQ(sem_wait(&semaphore), 0);
  void* value = nullptr;
  EXPECT_EQ(pthread_join(thread, &value), 0);
  EXPECT_EQ(value, &semaphore);
}

// Arguments.

TEST_F(InterposePosixTest, InvalidTimesAreRefusedAsByLibc) {
  const auto results = [] {
    WaitObjects objects;
    const timespec invalid = {1, 1'000'000'000};
    const timespec negative = {-1, 0};
    timeval negative_tv = {-1, 0};
    epoll_event event;
    return std::vector<int>{
        ErrorOf(nanosleep(&invalid, nullptr)),
        ErrorOf(nanosleep(&negative, nullptr)),
        clock_nanosleep(CLOCK_MONOTONIC, 0, &invalid, nullptr),
        clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &kLong, nullptr),
        ErrorOf(ppoll(nullptr, 0, &invalid, nullptr)),
        ErrorOf(pselect(0, nullptr, nullptr, nullptr, &invalid, nullptr)),
        ErrorOf(select(0, nullptr, nullptr, nullptr, &negative_tv)),
        ErrorOf(select(-1, nullptr, nullptr, nullptr, nullptr)),
        ErrorOf(epoll_wait(objects.epoll, &event, 0, 0)),
        ErrorOf(epoll_wait(objects.pipe_fds[0], &event, 1, 0)),
        ErrorOf(syscall(SYS_futex, &objects.word, FUTEX_WAIT_PRIVATE, 0, &invalid)),
    };
  };
  delay::ThreadLedger* ledger = LeaveThreadSync();
  const std::vector<int> of_libc = results();
  EnterThreadSync(ledger, process_.global().global_delay_ns);
  for (const int result : of_libc) EXPECT_EQ(result, EINVAL);
  process_.Impose(kDelayNs);
  EXPECT_EQ(results(), of_libc);
  EXPECT_GT(ledger->pauses, 0u);
}

}  // namespace
}  // namespace coz::interpose
