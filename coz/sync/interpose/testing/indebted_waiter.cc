#include "coz/sync/interpose/testing/indebted_waiter.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "coz/base/raw_syscall.h"
#include "coz/sync/interpose/wrapped_calls.h"
#include "gtest/gtest.h"

namespace coz::testing {
namespace {

struct SetsAtEnd {
  std::atomic<bool>* flag;
  ~SetsAtEnd() { *flag = true; }
};

}  // namespace

timespec FarRealtime() { return {time(nullptr) + 600, 0}; }
timespec FarMonotonic() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return {now.tv_sec + 600, now.tv_nsec};
}

int ErrorOf(long result) { return result == -1 ? errno : static_cast<int>(result); }

WaitObjects::WaitObjects() {
  sigemptyset(&none);
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  // Before any thread is created, so that it inherits the mask.
  pthread_sigmask(SIG_BLOCK, &usr1, nullptr);
  interpose::g_real.pthread_mutex_lock(&held);
  mtx_init(&mtx, mtx_plain);
  cnd_init(&cnd);
  sem_init(&semaphore, 0, 0);
  EXPECT_EQ(pipe(pipe_fds), 0);
  EXPECT_EQ(pipe2(full_pipe, O_NONBLOCK), 0);
  char page[4096] = {};
  while (interpose::g_real.write(full_pipe[1], page, sizeof(page)) > 0) {
  }
  fcntl(full_pipe[1], F_SETFL, 0);
  EXPECT_EQ(interpose::g_real.socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  listener = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(listen(listener, 1), 0);
  epoll = interpose::g_real.epoll_create1(0);
  event = interpose::g_real.eventfd(0, 0);
  const std::string name = "/coz-test-" + std::to_string(getpid());
  queue = mq_open(name.c_str(), O_RDWR | O_CREAT, 0600, nullptr);
  EXPECT_GE(queue, 0);
  mq_unlink(name.c_str());
  semaphores = semget(IPC_PRIVATE, 1, 0600);
  letters = msgget(IPC_PRIVATE, 0600);
  file = memfd_create("test", 0);
  locked_file =
      interpose::g_real.open(("/proc/self/fd/" + std::to_string(file)).c_str(), O_RDWR, 0);
  struct flock all = {};
  all.l_type = F_WRLCK;
  EXPECT_EQ(interpose::g_real.flock(locked_file, LOCK_EX), 0);
  EXPECT_EQ(RawSyscall(SYS_fcntl, locked_file, F_OFD_SETLK, &all), 0);
  child = fork();
  if (child == 0) {
    RawSyscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
    for (;;) RawSyscall(SYS_pause);
  }
  const auto wait_for_end = [](void* may_end) -> void* {
    while (!*static_cast<std::atomic<bool>*>(may_end)) RawSyscall(SYS_sched_yield);
    return nullptr;
  };
  EXPECT_EQ(interpose::g_real.pthread_create(&joined, nullptr, wait_for_end, &joined_may_end), 0);
}

WaitObjects::~WaitObjects() {
  joined_may_end = true;
  interpose::g_real.pthread_join(joined, nullptr);
  RawSyscall(SYS_kill, child, SIGKILL);
  interpose::g_real.waitpid(child, nullptr, 0);
  for (const int fd : {pipe_fds[0], pipe_fds[1], full_pipe[0], full_pipe[1], sockets[0], sockets[1],
                       listener, epoll, event, file, locked_file}) {
    interpose::g_real.close(fd);
  }
  mq_close(queue);
  interpose::g_real.semctl(semaphores, 0, IPC_RMID, 0);
  msgctl(letters, IPC_RMID, nullptr);
}

IndebtedWaiter::IndebtedWaiter(FakeProcess& process, WaitObjects& objects,
                               const std::function<void(WaitObjects&)>& wait) {
  thread_ = std::thread([this, &objects, wait] {
    const SetsAtEnd unwound{&unwound_};
    watched_.Announce();
    wait(objects);
    returned_ = true;
  });
  WaitUntil("it waits", [&] { return watched_.IsBlocked(true); });
  process.Impose(kDelayNs);
}

void IndebtedWaiter::Cancel() { EXPECT_EQ(pthread_cancel(thread_.native_handle()), 0); }

}  // namespace coz::testing
