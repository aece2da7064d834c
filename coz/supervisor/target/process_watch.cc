#include "coz/supervisor/target/process_watch.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "coz/base/clock.h"
#include "coz/base/file_text.h"
#include "coz/base/spared_calls.h"
#include "coz/shared/slot_loops.h"
#include "coz/shared/thread_slots.h"
#include "coz/supervisor/target/shared_text.h"

namespace coz::supervisor {

std::optional<uint64_t> ParseMajorFaults(absl::string_view stat) {
  // The name in parentheses may contain anything. The word behind it is the third field.
  constexpr size_t kMajorFaults = 12 - 3;
  const size_t close = stat.rfind(')');
  if (close == absl::string_view::npos) return std::nullopt;
  const std::vector<absl::string_view> words =
      absl::StrSplit(stat.substr(close + 1), ' ', absl::SkipEmpty());
  uint64_t faults = 0;
  if (words.size() <= kMajorFaults || !absl::SimpleAtoi(words[kMajorFaults], &faults)) {
    return std::nullopt;
  }
  return faults;
}

void ProcessWatch::NoteEnd(const Watched& watched, uint64_t end_ns) {
  if (watched.process < processes_.size()) processes_[watched.process].end_ns = end_ns;
}

void ProcessWatch::Begin(const shared::ProcessSlot& slot, pid_t pid, Watched* watched) {
  const uint64_t start_ns = slot.start_ns;
  if (watched->pid != pid) {
    watched->pid = pid;
    watched->pidfd.Reset(SparedCall<SYS_pidfd_open>(pid, 0));
  } else {
    NoteEnd(*watched, start_ns);  // it has become another program
  }
  watched->image = slot.image.load(std::memory_order_relaxed);
  watched->major_faults.reset();
  watched->process = processes_.size();
  ++seen_;
  if (processes_.size() == kMostKept) return;
  Process& process = processes_.emplace_back();
  process.pid = pid;
  process.parent_pid = slot.parent_pid;
  process.image = watched->image;
  process.load_bias = slot.load_bias;
  process.start_ns = start_ns;
  const uint32_t program = slot.program;
  if (program != 0 && program <= shared::kMaxModules) {
    process.program = SharedText(control_.modules[program - 1].path);
  }
}

bool ProcessWatch::HasEnded(const Watched& watched) const {
  if (!watched.pidfd.ok()) return kill(watched.pid, 0) != 0 && errno == ESRCH;
  pollfd fd = {watched.pidfd.get(), POLLIN, 0};
  return poll(&fd, 1, 0) == 1;
}

void ProcessWatch::Look(shared::ProcessSlot& slot, Watched* watched) {
  const shared::ProcessState state = slot.state.load(std::memory_order_acquire);
  if (state == shared::ProcessState::kFree) return;
  const bool readable =
      state == shared::ProcessState::kRunning || state == shared::ProcessState::kChanging;
  const pid_t pid = slot.pid;
  const bool is_news =
      watched->pid != pid || watched->image != slot.image.load(std::memory_order_relaxed);
  // No process has another number. kill(2) would ask for a group.
  if (readable && is_news && pid > 0) Begin(slot, pid, watched);
  if (watched->pid == 0) return;  // it is being written
  if (!HasEnded(*watched)) {
    ++live_;
    return;
  }
  NoteEnd(*watched, MonotonicNowNs());
  shared::FreeThreadSlotsOf(control_, watched->pid);
  *watched = Watched();
  slot.state.store(shared::ProcessState::kFree, std::memory_order_release);
}

void ProcessWatch::CountPageFaults(uint64_t now_ns) {
  for (Watched& watched : watched_) {
    if (watched.pid == 0 || watched.process >= processes_.size()) continue;
    const std::optional<uint64_t> faults =
        ParseMajorFaults(FileText(absl::StrCat(proc_, "/", watched.pid, "/stat")));
    if (!faults.has_value()) continue;
    const uint64_t since_ns = std::exchange(watched.looked_ns, now_ns);
    const std::optional<uint64_t> before = std::exchange(watched.major_faults, faults);
    if (!before.has_value()) continue;
    Process& process = processes_[watched.process];
    process.major_faults += *faults - std::min(*faults, *before);
    process.major_faults_ns += now_ns - since_ns;
  }
}

std::vector<pid_t> ProcessWatch::Running() const {
  std::vector<pid_t> running;
  for (const Watched& watched : watched_) {
    if (watched.pid != 0) running.push_back(watched.pid);
  }
  return running;
}

void ProcessWatch::Poll() {
  live_ = 0;
  shared::ForEachProcess(control_, [this](shared::ProcessSlot& slot, uint32_t index) {
    Look(slot, &watched_[index]);
  });
}

}  // namespace coz::supervisor
