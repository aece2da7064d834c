// OpenMP by libgomp: the entry points that the compiler calls. libgomp waits in futexes of its own
// and by spinning. Process: target. Context: the program's threads.
//
// A member of a team waits from the end of its share of a parallel region to the beginning of its
// share of the next, wherever libgomp keeps it meanwhile. It also waits in barriers, at critical
// sections, for locks and for tasks. A waiting thread may get tasks to run. A task ends its wait,
// and the wait begins again after the task.
//
// The functions have libgomp's own symbol versions, and these are not the default versions. So only
// code that was linked with libgomp binds to them. A weak reference or dlsym does not take them for
// a libgomp that is not there.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <atomic>

#include "coz/sync/interpose/io_wait.h"
#include "coz/sync/interpose/library_calls.h"
#include "coz/sync/interpose/meetings.h"
#include "coz/sync/interpose/openmp_calls_table.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {
namespace {

// Set once the program has tasks whose beginning the runtime does not see (task loops, detached
// tasks). From then on it cannot tell a wait in a team from work, and credits nothing for it.
std::atomic<bool> g_unseen_tasks{false};

struct TeamWait {
  bool waiting;
  delay::Wait wait;
};
__thread TeamWait t_team __attribute__((tls_model("initial-exec"))) = {};

uint64_t GlobalDelayNs() {
  return sync_internal::g_ledger->global_delay_ns.load(std::memory_order_acquire);
}

uint64_t LocalDelayNs() {
  const delay::ThreadLedger* thread = CurrentThreadLedger();
  return thread == nullptr ? 0 : thread->local_delay_ns.load(std::memory_order_relaxed);
}

// The last thread to arrive where all of a team wait for each other. It ends the wait of the
// others. If two threads arrive at once, they may leave the name of one and the delay of the other.
// The two delays differ at most by a thread's excess.
struct Arrival {
  std::atomic<const delay::ThreadLedger*> thread{nullptr};
  std::atomic<uint64_t> local_delay_ns{0};

  delay::LatestTime latest;

  void Note(const delay::ThreadLedger& arrived) {
    NoteArrival(arrived, latest);
    local_delay_ns.store(arrived.local_delay_ns.load(std::memory_order_relaxed),
                         std::memory_order_relaxed);
    thread.store(&arrived, std::memory_order_relaxed);
  }
};

// A parallel region. It lies on the stack of the thread that starts it and waits for its end.
struct Region {
  Outlined body;
  void* data;
  uint64_t starter_local_delay_ns;
  // Used in turn. Two are enough: no thread comes to the barrier after the next before all threads
  // have left this one.
  Arrival at_barrier[2];
  Arrival at_end;
};

// The region that the thread is in, and to how many of its barriers the thread has come.
struct Membership {
  Region* region;
  unsigned barriers;
};
__thread Membership t_membership __attribute__((tls_model("initial-exec"))) = {};

void BeginTeamWait() {
  delay::ThreadLedger* thread = CurrentThreadLedger();
  if (thread == nullptr) return;
  PayIfBehind();  // the others may wait for this thread
  if (g_unseen_tasks.load(std::memory_order_relaxed)) return;
  LeaveCpu(*thread);
  t_team.wait = delay::BeginWait(*thread, io_internal::StartNs(GlobalDelayNs()));
  t_team.waiting = true;
}

// For the end of a wait for the team. `thread` is the calling thread, or null where it did not
// wait.
struct TeamWaiter {
  delay::ThreadLedger* thread;
  uint64_t queued_ns;
};
TeamWaiter TakeTeamWaiter() {
  delay::ThreadLedger* thread = CurrentThreadLedger();
  if (thread == nullptr || !t_team.waiting) return {nullptr, 0};
  t_team.waiting = false;
  return {thread, ResumeRunning(*thread)};
}

// Ends a wait that may have been over before it began. So a thread with excess keeps its excess.
void EndTeamWaitOf(const TeamWaiter& waiter, uint64_t waker_local_delay_ns) {
  if (CallerOwes(*waiter.thread)) {
    io_internal::EndOwing(*waiter.thread, t_team.wait, waker_local_delay_ns, waiter.queued_ns,
                          io_internal::WokenBy::kThread);
  } else {
    delay::EndWaitUncredited(*waiter.thread);
  }
}

void EndTeamWait(uint64_t waker_local_delay_ns) {
  const TeamWaiter waiter = TakeTeamWaiter();
  if (waiter.thread != nullptr) EndTeamWaitOf(waiter, waker_local_delay_ns);
}

// Ends a wait in which the thread did wait, for a thread with that local delay. The wait absorbs
// the waiting thread's excess, and the thread takes over the other's.
void EndTeamWaitFor(uint64_t waker_local_delay_ns) {
  const TeamWaiter waiter = TakeTeamWaiter();
  delay::ThreadLedger* const thread = waiter.thread;
  if (thread == nullptr) return;
  if (CallerOwes(*thread)) return EndTeamWaitOf(waiter, waker_local_delay_ns);
  const uint64_t imposed_ns =
      thread->imposed_ns.load(std::memory_order_relaxed) - t_team.wait.imposed_ns;
  const uint64_t level_ns = waker_local_delay_ns + imposed_ns;
  if (level_ns == thread->local_delay_ns.load(std::memory_order_relaxed)) {
    return delay::EndWaitUncredited(*thread);
  }
  delay::EndWaitOfQueued(*sync_internal::g_ledger, *thread, t_team.wait, MonotonicNowNs(), level_ns,
                         waiter.queued_ns);
  PayAfterWake();
}

// Ends a wait for the last thread to arrive, which may be the calling thread itself.
void EndTeamWaitAt(const Arrival& arrival) {
  const delay::ThreadLedger* last = arrival.thread.load(std::memory_order_relaxed);
  if (last == nullptr || last == CurrentThreadLedger()) {
    EndTeamWait(GlobalDelayNs());
  } else {
    EndTeamWaitFor(arrival.local_delay_ns.load(std::memory_order_relaxed));
  }
  LeaveMeeting(&arrival.latest);
}

// Makes `call` as a wait for others of the team, who have paid before they came.
template <typename Call>
auto WaitForTeam(Call call) {
  BeginTeamWait();
  const auto result = call();
  if (CurrentThreadLedger() != nullptr) EndTeamWait(GlobalDelayNs());
  return result;
}

// The same where all of the team wait for each other, as at a barrier.
template <typename Call>
auto WaitForAll(Call call) {
  delay::ThreadLedger* thread = CurrentThreadLedger();
  Membership& membership = t_membership;
  if (thread == nullptr || membership.region == nullptr) return WaitForTeam(call);
  Arrival& arrival = membership.region->at_barrier[membership.barriers++ % 2];
  BeginTeamWait();
  arrival.Note(*thread);
  const auto result = call();
  EndTeamWaitAt(arrival);
  return result;
}

// Makes `call` as a wait for a lock. No tasks run in such a wait.
template <typename Call>
void WaitForOwner(Call call) {
  WaitForIo(
      [=] {
        call();
        return 0;
      },
      [](int) { return GlobalDelayNs(); });
}

void RunShare(void* opaque) {
  Region& region = *static_cast<Region*>(opaque);
  EndTeamWaitFor(region.starter_local_delay_ns);
  const Membership outer = t_membership;
  t_membership = {&region, 0};
  region.body(region.data);
  t_membership = outer;
  BeginTeamWait();
  if (const delay::ThreadLedger* thread = CurrentThreadLedger()) region.at_end.Note(*thread);
}

// Runs a region. `call` starts it with the body and data that it gets.
template <typename Call>
void RunRegion(Outlined body, void* data, Call call) {
  if (CurrentThreadLedger() == nullptr) {
    call(body, data);
    return;
  }
  PayIfBehind();
  Region region{body, data, LocalDelayNs(), {}, {}};
  call(RunShare, &region);
  EndTeamWaitAt(region.at_end);
}

// This lies before a task's arguments.
struct TaskHeader {
  Outlined body;
  size_t header_bytes;
  uint64_t creator_local_delay_ns;
};

struct TaskSource {
  TaskHeader header;
  CopyArguments copy;
  void* data;
  size_t data_bytes;
};

void CopyTask(void* argument, void* opaque) {
  const TaskSource& source = *static_cast<const TaskSource*>(opaque);
  memcpy(argument, &source.header, sizeof(source.header));
  void* copy = static_cast<char*>(argument) + source.header.header_bytes;
  if (source.copy != nullptr) {
    source.copy(copy, source.data);
  } else if (source.data_bytes != 0) {
    memcpy(copy, source.data, source.data_bytes);
  }
}

void RunTask(void* argument) {
  TaskHeader header;
  memcpy(&header, argument, sizeof(header));
  const bool from_a_wait = t_team.waiting;
  EndTeamWait(header.creator_local_delay_ns);
  header.body(static_cast<char*>(argument) + header.header_bytes);
  PayIfBehind();
  if (from_a_wait) BeginTeamWait();
}

constexpr unsigned kDetachedTask = 1 << 13;  // GOMP_TASK_FLAG_DETACH

// The real function for the caller of the entry point, since each caller may have its own libgomp.
#define COZ_REAL(name) RealLibraryCall<decltype(Coz##name)>(g_##name, __builtin_return_address(0))

#define COZ_X(shape, version, result, name, parameters, arguments) \
  LibraryCall g_##name{#name};                                     \
  extern "C" result Coz##name parameters;                          \
  asm(".symver Coz" #name ", " #name "@" version);
COZ_OPENMP_CALLS(COZ_X)
#undef COZ_X

#define COZ_DEFINE_REGION(name, parameters, arguments)                          \
  extern "C" void Coz##name parameters {                                        \
    auto* const real = COZ_REAL(name);                                          \
    RunRegion(body, data, [=](Outlined run, void* region) { real arguments; }); \
  }
#define COZ_DEFINE_BARRIER(name, parameters, arguments) \
  extern "C" void Coz##name parameters {                \
    auto* const real = COZ_REAL(name);                  \
    WaitForAll([=] {                                    \
      real arguments;                                   \
      return 0;                                         \
    });                                                 \
  }
#define COZ_DEFINE_CANCELLABLE_BARRIER(name, parameters, arguments) \
  extern "C" bool Coz##name parameters {                            \
    auto* const real = COZ_REAL(name);                              \
    return WaitForAll([=] { return real arguments; });              \
  }
#define COZ_DEFINE_TEAM_WAIT(name, parameters, arguments) \
  extern "C" void Coz##name parameters {                  \
    auto* const real = COZ_REAL(name);                    \
    WaitForTeam([=] {                                     \
      real arguments;                                     \
      return 0;                                           \
    });                                                   \
  }
#define COZ_DEFINE_ACQUIRE(name, parameters, arguments) \
  extern "C" void Coz##name parameters {                \
    auto* const real = COZ_REAL(name);                  \
    WaitForOwner([=] { real arguments; });              \
  }
#define COZ_DEFINE_RELEASE(name, parameters, arguments) \
  extern "C" void Coz##name parameters {                \
    PayIfBehind();                                      \
    COZ_REAL(name) arguments;                           \
  }
#define COZ_DEFINE_UNSEEN_TASKS(name, parameters, arguments) \
  extern "C" void Coz##name parameters {                     \
    g_unseen_tasks.store(true, std::memory_order_relaxed);   \
    COZ_REAL(name) arguments;                                \
  }
#define COZ_DEFINE_TASK(name, parameters, arguments)  // below

#define COZ_X(shape, version, result, name, parameters, arguments) \
  COZ_DEFINE_##shape(name, parameters, arguments)
COZ_OPENMP_CALLS(COZ_X)
#undef COZ_X

// Older compilers pass fewer arguments. libgomp reads the last ones only where the flags say so.
extern "C" void CozGOMP_task(Outlined body, void* data, CopyArguments copy, long bytes,
                             long alignment, bool may_defer, unsigned flags, void** depend,
                             long priority, void* detach) {
  auto* const real = COZ_REAL(GOMP_task);
  if (CurrentThreadLedger() == nullptr || (flags & kDetachedTask) != 0) {
    if ((flags & kDetachedTask) != 0) g_unseen_tasks.store(true, std::memory_order_relaxed);
    real(body, data, copy, bytes, alignment, may_defer, flags, depend, priority, detach);
    return;
  }
  PayIfBehind();  // another thread may wait for the task
  const long aligned = std::max<long>(alignment, alignof(TaskHeader));
  const long header_bytes =
      (static_cast<long>(sizeof(TaskHeader)) + aligned - 1) / aligned * aligned;
  TaskSource source{{body, static_cast<size_t>(header_bytes), LocalDelayNs()},
                    copy,
                    data,
                    static_cast<size_t>(bytes)};
  real(RunTask, &source, CopyTask, bytes + header_bytes, aligned, may_defer, flags, depend,
       priority, detach);
}

}  // namespace
}  // namespace coz::interpose
