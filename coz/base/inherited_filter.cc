#include "coz/base/inherited_filter.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <iterator>
#include <string>

#include "coz/base/file_text.h"

namespace coz {
namespace {

struct NeededCall {
  const char* name;
  long number;
};

// What supervisor and library call besides what each program does. prctl is the first, as it keeps
// the children from leaving core files.
constexpr NeededCall kNeededCalls[] = {
    {"prctl", SYS_prctl},
    {"bind", SYS_bind},
    {"capget", SYS_capget},
    {"epoll_create1", SYS_epoll_create1},
    {"epoll_ctl", SYS_epoll_ctl},
    {"flock", SYS_flock},
    {"fstatfs", SYS_fstatfs},
    {"ftruncate", SYS_ftruncate},
    {"getrusage", SYS_getrusage},
    {"listen", SYS_listen},
    {"madvise", SYS_madvise},
    {"memfd_create", SYS_memfd_create},
    {"mremap", SYS_mremap},
    {"pipe2", SYS_pipe2},
    {"prlimit64", SYS_prlimit64},
    {"pwrite64", SYS_pwrite64},
    {"sched_getaffinity", SYS_sched_getaffinity},
    {"signalfd4", SYS_signalfd4},
    {"socket", SYS_socket},
    {"tgkill", SYS_tgkill},
    {"timer_create", SYS_timer_create},
    {"timer_delete", SYS_timer_delete},
    {"timer_settime", SYS_timer_settime},
    {"utimensat", SYS_utimensat},
};
constexpr size_t kNeeded = std::size(kNeededCalls);
constexpr size_t kCalls = kNeeded + std::size(kSparedCalls);

long NumberOf(size_t index) {
  return index < kNeeded ? kNeededCalls[index].number : kSparedCalls[index - kNeeded];
}

enum class Answer : unsigned char { kNotAsked, kAsked, kDone, kRefused };

bool HasFilter() {
  constexpr char kLine[] = "\nSeccomp:\t";
  const std::string status = FileText("/proc/self/status");
  const size_t line = status.find(kLine);
  return line != std::string::npos && status.compare(line + sizeof(kLine) - 1, 1, "2") == 0;
}

// In the child. No kernel does anything for these arguments, nor refuses them for want of rights.
[[noreturn]] void AskFrom(size_t first, volatile Answer* answers) {
  constexpr int kNo = -1;
  signal(SIGSYS, SIG_DFL);
  for (size_t i = first; i < kCalls; ++i) {
    // Else a filter that kills leaves a core file.
    if (i > 0 && answers[0] == Answer::kDone) RawSyscall(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
    answers[i] = Answer::kAsked;
    const long result = RawSyscall(NumberOf(i), kNo, kNo, kNo, kNo, kNo, kNo);
    answers[i] = result == -EPERM || result == -ENOSYS ? Answer::kRefused : Answer::kDone;
  }
  _exit(0);
}

// Each child goes on behind the call that has ended the one before.
void AskAll(volatile Answer* answers) {
  for (size_t next = 0; next < kCalls;) {
    const pid_t child = fork();
    if (child < 0) return;
    if (child == 0) AskFrom(next, answers);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    while (next < kCalls && answers[next] > Answer::kAsked) ++next;
    if (next < kCalls && answers[next] == Answer::kNotAsked) return;  // it was killed from outside
    ++next;
  }
}

FilteredCalls Ask() {
  FilteredCalls calls;
  if (!HasFilter()) return calls;
  void* const shared =
      mmap(nullptr, kCalls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return calls;
  volatile Answer* const answers = static_cast<Answer*>(shared);
  AskAll(answers);
  for (size_t i = 0; i < kCalls; ++i) {
    const bool is_deadly = answers[i] == Answer::kAsked;
    if (i >= kNeeded) {
      const CallSet bit = CallBit(NumberOf(i));
      if (is_deadly) calls.deadly |= bit;
      if (is_deadly || answers[i] == Answer::kRefused) calls.filtered |= bit;
    } else if (is_deadly) {
      calls.needed += (calls.needed.empty() ? "" : " ") + std::string(kNeededCalls[i].name);
    }
  }
  munmap(shared, kCalls);
  g_deadly_calls.store(calls.deadly, std::memory_order_relaxed);
  g_filtered_calls.store(calls.filtered, std::memory_order_relaxed);
  return calls;
}

}  // namespace

const FilteredCalls& CallsOfInheritedFilter() {
  static const FilteredCalls calls = Ask();
  return calls;
}

}  // namespace coz
