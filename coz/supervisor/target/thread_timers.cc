#include "coz/supervisor/target/thread_timers.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "coz/attach/process_view.h"
#include "coz/base/signal_mask.h"
#include "coz/shared/slot_loops.h"

namespace coz::supervisor {
namespace {

// They have made their timers as they started, or with their first wrapped call.
std::set<pid_t> ThreadsWithSlots(const shared::ControlBlock& control, pid_t pid) {
  std::set<pid_t> threads;
  shared::ForEachRunningThread(control, [&threads, pid](const shared::ThreadSlot& slot) {
    if (slot.pid.load(std::memory_order_relaxed) == pid) {
      threads.insert(slot.tid.load(std::memory_order_relaxed));
    }
  });
  return threads;
}

}  // namespace

// One that begins now makes its own, and so it has a slot by the next look.
bool ThreadTimers::NeedsOne(pid_t tid, const std::set<pid_t>& with_slots) const {
  if (!has_looked_ || waiting_.count(tid) != 0) return true;
  return seen_.count(tid) != 0 && with_slots.count(tid) == 0;
}

bool ThreadTimers::Look(shared::ControlBlock* control) {
  const std::set<pid_t> with_slots = ThreadsWithSlots(*control, pid_);
  std::set<pid_t> seen;
  asked_.clear();
  blocking_.clear();
  for (const pid_t tid : attach::ReadThreads(pid_)) {
    if (timed_.count(tid) != 0) continue;
    const attach::StatusFields status = attach::ReadThreadStatus(pid_, tid);
    const bool blocks = (attach::SignalsIn(status, "SigBlk") & SignalMaskOf(SIGTRAP)) != 0;
    if (blocks) {
      const auto name = status.find("Name");
      blocking_.push_back(name == status.end() ? "" : name->second);
    }
    seen.insert(tid);
    const bool needs_one = NeedsOne(tid, with_slots);
    if (blocks || (needs_one && asked_.size() == shared::kMostTimersAsked)) {
      waiting_.insert(tid);
    } else if (needs_one) {
      asked_.push_back(tid);
    }
  }
  seen_ = std::move(seen);
  has_looked_ = true;
  shared::TimerRequest& request = control->timer_request;
  request.count = static_cast<uint32_t>(asked_.size());
  std::copy(asked_.begin(), asked_.end(), &request.threads[0]);
  return !asked_.empty();
}

// -EINVAL: it has ended meanwhile.
void ThreadTimers::NoteAnswer(const shared::ControlBlock& control) {
  for (size_t i = 0; i < asked_.size(); ++i) {
    const int32_t answer = control.timer_request.threads[i];
    timed_.insert(asked_[i]);
    if (answer < 0 && answer != -EINVAL) refusal_ = answer;
  }
}

}  // namespace coz::supervisor
