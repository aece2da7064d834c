#include "coz/shared/thread_records.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

#include "coz/base/clock.h"
#include "coz/base/raw_syscall.h"
#include "coz/base/thread_cpu_clock.h"

namespace coz::shared {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

uint32_t PointsUsed(const ControlBlock& control) {
  uint32_t used = 0;
  while (used < kMaxPoints &&
         control.points[used].state.load(std::memory_order_acquire) != PointState::kFree) {
    ++used;
  }
  return used;
}

// Numbers are taken from the first on.
uint32_t TimedFunctionsUsed(const ControlBlock& control) {
  uint32_t used = 0;
  while (used < kMaxTimedFunctions && control.timed_functions[used].load(kRelaxed) != 0) ++used;
  return used;
}

ThreadName NameOf(const ThreadFigures& figures) {
  return {{figures.name[0].load(kRelaxed), figures.name[1].load(kRelaxed)}};
}

ThreadRole RoleOf(const ControlBlock& control, const ThreadName& name) {
  char text[kThreadNameBytes];
  name.Get(text);
  return {IsInThreadScope(control.thread_scope, text), ThreadGroupOf(control.thread_groups, text)};
}

void SetRole(const ThreadRole& role, ThreadFigures* figures) {
  figures->is_in_scope.store(role.is_in_scope ? 1 : 0, kRelaxed);
  figures->group.store(role.group, kRelaxed);
}

void SetName(const ControlBlock& control, const ThreadName& name, ThreadFigures* figures) {
  figures->name[0].store(name.words[0], kRelaxed);
  figures->name[1].store(name.words[1], kRelaxed);
  SetRole(RoleOf(control, name), figures);
}

// Who reads the figures meanwhile reads them again.
class Change {
 public:
  explicit Change(ThreadFigures* figures) : figures_(*figures) {
    figures_.changes.fetch_add(1, std::memory_order_acq_rel);
  }
  ~Change() { figures_.changes.fetch_add(1, std::memory_order_release); }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

 private:
  ThreadFigures& figures_;
};

void StartFrom(const ControlBlock& control, const ThreadName& name, bool is_new_thread,
               ThreadSlot* slot) {
  ThreadFigures& figures = slot->figures;
  SetName(control, name, &figures);
  figures.start_ns.store(MonotonicNowNs(), kRelaxed);
  figures.samples.store(0, kRelaxed);
  figures.samples_in_scope.store(0, kRelaxed);
  figures.cpu_start_ns.store(ThreadCpuNowNs(), kRelaxed);
  figures.cpu_ns.store(0, kRelaxed);
  const uint32_t points = PointsUsed(control);
  for (uint32_t i = 0; i < points; ++i) {
    figures.visits_before[i].store(slot->visits[i].load(kRelaxed), kRelaxed);
  }
  BeginCallTimes(slot->timers, is_new_thread, TimedFunctionsUsed(control));
}

// Null where the ring is full.
EndedThread* TakePlace(EndedThreads* ring, uint64_t* number) {
  *number = ring->next.load(kRelaxed);
  do {
    if (*number - ring->read.load(std::memory_order_acquire) >= kMaxEndedThreads) return nullptr;
  } while (!ring->next.compare_exchange_weak(*number, *number + 1, kRelaxed));
  return &ring->threads[*number % kMaxEndedThreads];
}

void Write(const ControlBlock& control, const ThreadSlot& slot, EndedThread* ended) {
  const ThreadFigures& figures = slot.figures;
  ended->pid = slot.pid.load(kRelaxed);
  ended->tid = slot.tid.load(kRelaxed);
  ended->name = NameOf(figures);
  ended->start_ns = figures.start_ns.load(kRelaxed);
  ended->end_ns = MonotonicNowNs();
  ended->samples = figures.samples.load(kRelaxed);
  ended->samples_in_scope = figures.samples_in_scope.load(kRelaxed);
  ended->cpu_ns = figures.cpu_ns.load(kRelaxed);
  const uint32_t points = PointsUsed(control);
  for (uint32_t i = 0; i < points; ++i) {
    ended->visits[i] = slot.visits[i].load(kRelaxed) - figures.visits_before[i].load(kRelaxed);
  }
  const uint32_t functions = TimedFunctionsUsed(control);
  for (uint32_t i = 0; i < functions; ++i) ended->times[i] = CallSumsOf(slot.timers, i);
}

}  // namespace

ThreadName ReadOwnName() {
  ThreadName name = {};
  RawSyscall(SYS_prctl, PR_GET_NAME, &name);
  return name;
}

void BeginFigures(const ControlBlock& control, ThreadSlot& slot) {
  const Change change(&slot.figures);
  StartFrom(control, ReadOwnName(), /*is_new_thread=*/true, &slot);
}

ThreadRole OwnRole(const ControlBlock& control) {
  if (control.thread_scope.patterns_used == 0 && control.thread_groups.groups_used == 0) return {};
  return RoleOf(control, ReadOwnName());
}

ThreadRole NoteSample(ControlBlock& control, ThreadSlot& slot, uint64_t weight) {
  ThreadFigures& figures = slot.figures;
  const ThreadName name = ReadOwnName();
  // The thread is about to take the slot, which still holds the figures of another one.
  if (slot.state.load(kRelaxed) != ThreadState::kRunning) return RoleOf(control, name);
  if (!(name == NameOf(figures))) {
    const bool is_news = figures.samples.load(kRelaxed) == 0;
    if (!is_news) {
      NoteCpuTime(slot);
      EndFigures(control, slot);
    }
    const Change change(&figures);
    if (is_news) {
      SetName(control, name, &figures);  // it was named before it did anything
    } else {
      StartFrom(control, name, /*is_new_thread=*/false, &slot);
    }
  }
  figures.samples.fetch_add(weight, kRelaxed);
  slot.timers.samples.fetch_add(weight, kRelaxed);
  return {figures.is_in_scope.load(kRelaxed) != 0, figures.group.load(kRelaxed)};
}

void RenewRole(const ControlBlock& control, ThreadSlot& slot) {
  SetRole(RoleOf(control, NameOf(slot.figures)), &slot.figures);
}

void NoteCpuTime(ThreadSlot& slot) {
  ThreadFigures& figures = slot.figures;
  figures.cpu_ns.store(ThreadCpuNowNs() - figures.cpu_start_ns.load(kRelaxed), kRelaxed);
}

void EndFigures(ControlBlock& control, const ThreadSlot& slot) {
  EndedThreads& ring = control.ended_threads;
  if (ring.has_reader.load(kRelaxed) == 0) return;
  uint64_t number;
  EndedThread* const ended = TakePlace(&ring, &number);
  if (ended == nullptr) {
    ring.lost.fetch_add(1, kRelaxed);
    ring.lost_samples.fetch_add(slot.figures.samples.load(kRelaxed), kRelaxed);
    return;
  }
  Write(control, slot, ended);
  ended->written.store(number + 1, std::memory_order_release);
}

}  // namespace coz::shared
