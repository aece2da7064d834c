#include "coz/supervisor/target/thread_load.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "coz/base/clock.h"
#include "coz/shared/slot_loops.h"

namespace coz::supervisor {
namespace {

// Reading a thread's state costs some microseconds. So only this many are read at a time, this
// often.
constexpr uint32_t kStatesPerLook = 16;
constexpr uint64_t kStateLookNs = delay::CrowdWatch::kLookNs;

// Threads of the whole machine that are on a CPU or wait for one, without this one, by the open
// /proc/loadavg. 0 where that cannot be read.
int RunnableOnMachine(const UniqueFd& fd) {
  char text[128];
  const ssize_t length = fd.ok() ? pread(fd.get(), text, sizeof(text) - 1, 0) : -1;
  if (length <= 0) return 0;
  text[length] = '\0';
  int runnable = 0;
  return sscanf(text, "%*s %*s %*s %d", &runnable) == 1 ? std::max(0, runnable - 1) : 0;
}

UniqueFd OpenStat(pid_t pid, pid_t tid) {
  const std::string path = absl::StrFormat("/proc/%d/task/%d/stat", pid, tid);
  return UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

char LetterIn(const UniqueFd& fd) {
  char text[256];
  const ssize_t length = fd.ok() ? pread(fd.get(), text, sizeof(text) - 1, 0) : -1;
  if (length <= 0) return 0;
  text[length] = '\0';
  // The name in parentheses may contain anything, even parentheses.
  const char* end_of_name = strrchr(text, ')');
  return end_of_name != nullptr && end_of_name[1] == ' ' ? end_of_name[2] : '\0';
}

}  // namespace

char ThreadStateLetter(pid_t pid, pid_t tid) { return LetterIn(OpenStat(pid, tid)); }

ThreadStates::ThreadStates() {
  constexpr rlim_t kPartOfFiles = 4;
  constexpr rlim_t kMostOpen = 256;
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  most_open_ = std::min(kMostOpen, files.rlim_cur / kPartOfFiles);
}

char ThreadStates::Letter(pid_t pid, pid_t tid) {
  const auto found = files_.find({pid, tid});
  if (found != files_.end()) {
    const char letter = LetterIn(found->second);
    if (letter != 0) return letter;
    files_.erase(found);  // another thread may have the number
  }
  UniqueFd fd = OpenStat(pid, tid);
  const char letter = LetterIn(fd);
  if (files_.size() >= most_open_) files_.clear();
  if (letter != 0 && most_open_ != 0) files_.emplace(std::pair(pid, tid), std::move(fd));
  return letter;
}

bool IsRealtime(pid_t tid) {
  const int policy = sched_getscheduler(tid);
  if (policy < 0) return false;
  const int without_flag = policy & ~SCHED_RESET_ON_FORK;
  return without_flag == SCHED_FIFO || without_flag == SCHED_RR || without_flag == SCHED_DEADLINE;
}

ThreadLoad::ThreadLoad(const shared::ControlBlock* control)
    : control_(*control),
      cpus_of_machine_(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))),
      load_average_(open("/proc/loadavg", O_RDONLY | O_CLOEXEC)) {
  // The target inherits this process's CPUs. What its threads do with them is their own affair.
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0) cpus_ = CPU_COUNT(&cpus);
}

void ThreadLoad::NoteIdle(uint64_t idle_ns, uint64_t read_ns, uint64_t delay_ns) {
  if (read_ns <= idle_read_ns_) return;
  if (idle_read_ns_ != 0 && delay_ns == idle_delay_ns_) {
    idle_cpus_ = static_cast<double>(idle_ns - std::min(idle_ns, idle_ns_)) /
                 static_cast<double>(read_ns - idle_read_ns_);
  }
  idle_ns_ = idle_ns;
  idle_read_ns_ = read_ns;
  idle_delay_ns_ = delay_ns;
}

void ThreadLoad::Poll(uint64_t now_ns) {
  if (now_ns < read_ns_ + kStateLookNs) return;
  read_ns_ = now_ns;
  std::vector<const shared::ThreadSlot*> threads;
  shared::ForEachPayingThread(
      control_, [&threads](const shared::ThreadSlot& slot) { threads.push_back(&slot); });
  live_ = static_cast<int>(threads.size());
  const uint32_t looks = std::min<uint32_t>(kStatesPerLook, threads.size());
  uint32_t running = 0;
  uint32_t pausing = 0;
  uint32_t realtime = 0;
  for (uint32_t i = 0; i < looks; ++i) {
    const shared::ThreadSlot& slot = *threads[cursor_++ % threads.size()];
    // Such a pause stands for work, so a thread that sleeps to pay takes part in a crowd.
    const bool pauses = slot.ledger.pausing.load(std::memory_order_relaxed) == delay::kPausing;
    const pid_t tid = slot.tid.load(std::memory_order_relaxed);
    if (states_.Letter(slot.pid.load(std::memory_order_relaxed), tid) == 'R') {
      ++running;
    } else if (pauses) {
      ++pausing;
    }
    if (IsRealtime(tid)) ++realtime;
  }
  // Rounded up: a single one matters.
  realtime_ = looks == 0 ? 0 : static_cast<int>((realtime * threads.size() + looks - 1) / looks);
  const auto of_all = [&](uint32_t seen) {
    return looks == 0 ? 0 : static_cast<int>((seen * threads.size() + looks / 2) / looks);
  };
  runnable_ = of_all(running);
  is_crowd_ = crowd_.Look(live_, of_all(running + pausing), cpus_, idle_cpus_);
  // Other programs find room on the CPUs that the target may not use, and compete for the rest.
  const int others = std::max(0, RunnableOnMachine(load_average_) - runnable_);
  const int elsewhere = cpus_of_machine_ - cpus_;
  beside_ = std::max(0, others - elsewhere);
}

}  // namespace coz::supervisor
