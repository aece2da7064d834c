#include "coz/supervisor/target/process_watch.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "coz/base/clock.h"
#include "coz/shared/slot_loops.h"
#include "coz/shared/thread_slots.h"

namespace coz::supervisor {

void ProcessWatch::Begin(const shared::ProcessSlot& slot, Watched* watched) {
  if (watched->pid != slot.pid) {
    watched->pid = slot.pid;
    watched->pidfd.Reset(static_cast<int>(syscall(SYS_pidfd_open, slot.pid, 0)));
  } else {
    processes_[watched->process].end_ns = slot.start_ns;  // it has become another program
  }
  watched->image = slot.image.load(std::memory_order_relaxed);
  watched->process = processes_.size();
  Process& process = processes_.emplace_back();
  process.pid = slot.pid;
  process.parent_pid = slot.parent_pid;
  process.image = watched->image;
  process.load_bias = slot.load_bias;
  process.start_ns = slot.start_ns;
  if (slot.program != 0 && slot.program <= shared::kMaxModules) {
    process.program = control_.modules[slot.program - 1].path;
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
  const bool is_news =
      watched->pid != slot.pid || watched->image != slot.image.load(std::memory_order_relaxed);
  if (readable && is_news) Begin(slot, watched);
  if (watched->pid == 0) return;  // it is being written
  if (!HasEnded(*watched)) {
    ++live_;
    return;
  }
  processes_[watched->process].end_ns = MonotonicNowNs();
  shared::FreeThreadSlotsOf(control_, watched->pid);
  *watched = Watched();
  slot.state.store(shared::ProcessState::kFree, std::memory_order_release);
}

void ProcessWatch::Poll() {
  live_ = 0;
  shared::ForEachProcess(control_, [this](shared::ProcessSlot& slot, uint32_t index) {
    Look(slot, &watched_[index]);
  });
}

}  // namespace coz::supervisor
