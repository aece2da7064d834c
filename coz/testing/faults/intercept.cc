#include "coz/testing/faults/intercept.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <utility>

#include "coz/base/clock.h"
#include "coz/base/unique_fd.h"
#include "coz/testing/faults/watched_time.h"

// Of Linux 5.19, which Debian 12's headers lack: a signal does not end a call that is being looked
// at, so that each is seen once.
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

namespace coz::testing {
namespace {

constexpr int kNotYet = -1;

[[noreturn]] void Fail(const char* what) {
  fprintf(stderr, "intercept: cannot %s: %s\n", what, strerror(errno));
  exit(126);
}

std::vector<sock_filter> Filter(const std::vector<int>& numbers) {
  std::vector<sock_filter> filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  std::set<int> all(numbers.begin(), numbers.end());
  all.insert(SYS_execve);
  for (const int number : all) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  }
  filter.push_back(
      BPF_STMT(BPF_RET | BPF_K, numbers.empty() ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW));
  return filter;
}

// The listener's number is told by memory: any call from here on waits for an answer.
[[noreturn]] void Become(const std::vector<std::string>& command, const std::vector<int>& numbers,
                         std::atomic<int>* listener) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  std::vector<sock_filter> filter = Filter(numbers);
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  std::vector<char*> pointers;
  pointers.reserve(command.size() + 1);
  for (const std::string& word : command) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  const long fd =
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
              SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
  listener->store(fd < 0 ? -errno - 1 : static_cast<int>(fd));
  if (fd >= 0) execv(pointers[0], pointers.data());
  _exit(127);
}

UniqueFd DescriptorOf(const UniqueFd& process, int number) {
  UniqueFd listener(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), number, 0)));
  if (!listener.ok()) Fail("get the listener");
  return listener;
}

UniqueFd PidfdOf(pid_t pid) { return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); }

UniqueFd Listener(const UniqueFd& process, const std::atomic<int>& number) {
  constexpr timespec kLook = {0, kNsPerMs};
  while (number.load() == kNotYet) nanosleep(&kLook, nullptr);
  if (number.load() < 0) {
    errno = -(number.load() + 1);
    Fail("intercept system calls");
  }
  return DescriptorOf(process, number.load());
}

// False where there is none: its process has ended meanwhile.
bool AnswerOne(int listener, const OnCall& on_call, std::set<pid_t>* seen) {
  seccomp_notif asked;
  memset(&asked, 0, sizeof(asked));
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) return false;
  seen->insert(static_cast<pid_t>(asked.pid));
  const int error = on_call({static_cast<pid_t>(asked.pid), asked.data.nr,
                             asked.data.instruction_pointer, asked.data.args[0]});
  seccomp_notif_resp answer;
  memset(&answer, 0, sizeof(answer));
  answer.id = asked.id;
  answer.error = -error;
  answer.flags = error == 0 ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
  return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0;
}

// Each thread with its name and the system call that it is in, as /proc has them.
std::string WaitsOf(const std::set<pid_t>& threads) {
  std::string waits;
  for (const pid_t tid : threads) {
    std::string name, call;
    const std::string folder = "/proc/" + std::to_string(tid);
    std::ifstream name_file(folder + "/comm"), call_file(folder + "/syscall");
    std::getline(name_file, name);
    std::getline(call_file, call);
    waits.append(" [").append(std::to_string(tid)).append(" ").append(name);
    waits.append(": ").append(call).append("]");
  }
  return waits;
}

}  // namespace

Intercepted Intercept(const std::vector<std::string>& command, const std::vector<int>& numbers,
                      int limit_s, const OnCall& on_call) {
  void* const shared =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) Fail("share memory");
  auto* const number = new (shared) std::atomic<int>(kNotYet);
  const pid_t pid = fork();
  if (pid < 0) Fail("fork");
  if (pid == 0) Become(command, numbers, number);
  const UniqueFd listener = Listener(PidfdOf(pid), *number);
  Intercepted result;
  std::set<pid_t> seen = {pid};
  WatchedTime time(MonotonicNowNs());
  for (;;) {
    pollfd fd = {listener.get(), POLLIN, 0};
    if (time.IsOver(MonotonicNowNs(), limit_s)) {
      result.timed_out = true;
      result.waits = WaitsOf(seen);
      for (const pid_t one : seen) kill(one, SIGKILL);
      break;
    }
    if (poll(&fd, 1, WatchedTime::kLookMs) != 1) continue;
    if ((fd.revents & POLLIN) != 0) {
      AnswerOne(listener.get(), on_call, &seen);
    } else if ((fd.revents & POLLHUP) != 0) {
      break;  // all have ended
    }
  }
  waitpid(pid, &result.wait_status, 0);
  munmap(shared, 4096);
  return result;
}

ShownCalls::ShownCalls(pid_t pid, int number, OnCall on_call)
    : listener_(DescriptorOf(PidfdOf(pid), number)),
      on_call_(std::move(on_call)),
      thread_([this] { Answer(); }) {}

void ShownCalls::Answer() const {
  std::set<pid_t> seen;
  pollfd fd = {listener_.get(), POLLIN, 0};
  while (poll(&fd, 1, -1) == 1 && ((fd.revents & POLLIN) != 0 || (fd.revents & POLLHUP) == 0)) {
    AnswerOne(listener_.get(), on_call_, &seen);
  }
}

}  // namespace coz::testing
