#include "coz/supervisor/target/thread_times.h"

#include <fcntl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "coz/base/unique_fd.h"
#include "coz/shared/slot_loops.h"

namespace coz::supervisor {
namespace {

constexpr size_t kMostThreads = 256;

// One that has taken over a number counts from now on.
bool IsLater(const ThreadTimes& now, const ThreadTimes& before) {
  return before.switches <= now.switches && before.ran_ns <= now.ran_ns &&
         before.queued_ns <= now.queued_ns;
}

}  // namespace

std::optional<ThreadTimes> ThreadTimesMeter::Look(pid_t pid, pid_t tid) {
  const std::string path = absl::StrFormat("/proc/%d/task/%d/schedstat", pid, tid);
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[128];
  const ssize_t length = fd.ok() ? read(fd.get(), text, sizeof(text) - 1) : -1;
  if (length <= 0) return std::nullopt;
  text[length] = '\0';
  ThreadTimes times;
  if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &times.ran_ns, &times.queued_ns,
             &times.switches) != 3) {
    return std::nullopt;
  }
  return times;
}

std::optional<ThreadTimes> ThreadTimesMeter::TakeGrowth() {
  absl::flat_hash_map<pid_t, ThreadTimes> now;
  ThreadTimes sum;
  shared::ForEachRunningThread(control_, [&](const shared::ThreadSlot& slot) {
    const pid_t tid = slot.tid.load(std::memory_order_relaxed);
    const std::optional<ThreadTimes> times = Look(slot.pid.load(std::memory_order_relaxed), tid);
    if (!times.has_value()) return true;
    now[tid] = *times;
    // A new thread counts from its start.
    const auto found = seen_.find(tid);
    const ThreadTimes before = found == seen_.end() ? ThreadTimes() : found->second;
    if (IsLater(*times, before)) {
      sum.ran_ns += times->ran_ns - before.ran_ns;
      sum.queued_ns += times->queued_ns - before.queued_ns;
      sum.switches += times->switches - before.switches;
      if (times->ran_ns > before.ran_ns) ++sum.threads;
    }
    return now.size() < kMostThreads;
  });
  seen_ = std::move(now);
  if (!std::exchange(has_looked_, true)) return std::nullopt;
  return sum;
}

}  // namespace coz::supervisor
