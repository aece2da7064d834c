// What the sampler does where the process forks, calls exec, or wants one of our descriptors.
#include <sys/syscall.h>

#include <atomic>

#include "coz/base/raw_syscall.h"
#include "coz/base/reserved_descriptors.h"
#include "coz/sampler/clock_events.h"
#include "coz/sampler/perf_event.h"
#include "coz/sampler/sampler.h"
#include "coz/sampler/sampler_state.h"
#include "coz/sampler/timer_table.h"

namespace coz::sampler {

namespace {

void DisableEventForExec(int fd) {
  if (sampled_process.shared_event == nullptr) {
    DisablePerfEvent(fd);
    return;
  }
  const SharedEventHold hold(sampled_process.shared_event);
  ShareEvent(-1);
  DisablePerfEvent(fd);
}

}  // namespace

void OnForkInChild() {
  sampled_process.enabled.store(false);
  sampled_process.active_callbacks.store(0);
  sampled_process.shared_event = nullptr;  // the parent's
  sampled_process.suspensions = nullptr;
  const int fd = sampled_process.inherited_fd.exchange(-1);
  if (fd >= 0 && !IsReservedDescriptor(fd)) RawSyscall(SYS_close, fd);
  CloseInheritedEvents();
  ForgetClockEvents();
  ForgetTimers();
  sampled_process.made_timers_for_others.store(false);
  t_thread.source = ThreadSource();
  t_thread.phase_keeper.Forget();
  t_thread.queue_clock.Forget();
  t_thread.tracker.Forget();
  t_thread.callback_end_ns = 0;
  t_thread.state.BecomeLong();
  t_thread.active_frame = 0;
  t_thread.has_event_from_outside = false;
  t_thread.tid = 0;
}

void MakeWayForDescriptor(int fd) {
  if (!InSampledProcess()) return;
  const int moved = MoveOutOfTheWay(fd);
  if (moved == fd) {  // no room: the program closes the event by taking its number
    int inherited = fd;
    if (sampled_process.inherited_fd.compare_exchange_strong(inherited, -1)) ShareEvent(-1);
    NoteClockEventMove(fd, -1);
  } else if (ReserveDescriptor(moved)) {
    int inherited = fd;
    if (sampled_process.inherited_fd.compare_exchange_strong(inherited, moved)) ShareEvent(moved);
    // Another thread's event stays open until the process ends, and sends nothing when its thread
    // has.
    if (t_thread.source.fd_plus_1 == fd + 1) t_thread.source.fd_plus_1 = moved + 1;
    NoteClockEventMove(fd, moved);
    t_thread.phase_keeper.NoteMove(fd, moved);
    t_thread.queue_clock.NoteMove(fd, moved);
  }
  ReleaseDescriptor(fd);
}

void PrepareForExec() {
  if (!InSampledProcess()) return;
  const int fd = sampled_process.inherited_fd.load(std::memory_order_relaxed);
  if (fd >= 0) DisableEventForExec(fd);
  DisableClockEvents();
  StopOwnSource();
  t_thread.state.BecomeLong();
}

void ResumeAfterFailedExec() {
  if (!InSampledProcess() || !sampled_process.enabled.load(std::memory_order_acquire)) return;
  const int fd = sampled_process.inherited_fd.load(std::memory_order_relaxed);
  if (fd >= 0) ShareAndEnableEvent(fd);
  EnableClockEvents();
  StartThreadSampling();
}

}  // namespace coz::sampler
