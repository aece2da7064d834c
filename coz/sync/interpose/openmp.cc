// OpenMP by libgomp, which waits in futexes of its own and by spinning: the entry points that the
// compiler calls. Process: target. Context: the program's threads.
//
// A member of a team waits from the end of its share of a parallel region to the beginning of its
// share of the next, wherever libgomp keeps it meanwhile; and in barriers, at critical sections,
// for locks and tasks. Whoever waits may be given tasks to run, which end its wait and begin it
// anew.
//
// The functions are defined with libgomp's own symbol versions, as versions that are not the
// default: only what was linked with libgomp binds to them, and neither a weak reference nor dlsym
// takes them for a libgomp that is not there.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <atomic>

#include "coz/sync/interpose/io_wait.h"
#include "coz/sync/interpose/openmp_calls.h"
#include "coz/sync/interpose/openmp_calls_table.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {
namespace {

// Set once the program has tasks that are not seen to begin (task loops, detached tasks): to wait
// in a team is then not told from to work, and nothing is credited for it.
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

// Who was the last to arrive where all of a team wait for each other, which ends the wait of the
// others. Two that arrive at once may leave one's name and the other's delay, which differ by no
// more than one's excess.
struct Arrival {
  std::atomic<const delay::ThreadLedger*> thread{nullptr};
  std::atomic<uint64_t> local_delay_ns{0};

  void Note(const delay::ThreadLedger& arrived) {
    local_delay_ns.store(arrived.local_delay_ns.load(std::memory_order_relaxed),
                         std::memory_order_relaxed);
    thread.store(&arrived, std::memory_order_relaxed);
  }
};

// A parallel region, on the stack of the thread that starts it and waits for its end.
struct Region {
  Outlined body;
  void* data;
  uint64_t starter_local_delay_ns;
  // By turns: nobody comes to the barrier after the next before all have left this one.
  Arrival at_barrier[2];
  Arrival at_end;
};

// The region that the thread is in, and how many of its barriers it has come to.
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
  t_team.wait = delay::BeginWait(*thread, io_internal::StartNs(GlobalDelayNs()));
  t_team.waiting = true;
}

// The calling thread, at the end of a wait for its team; null where it did not wait.
delay::ThreadLedger* TakeTeamWaiter() {
  delay::ThreadLedger* thread = CurrentThreadLedger();
  if (thread == nullptr || !t_team.waiting) return nullptr;
  t_team.waiting = false;
  ResumeRunning(*thread);
  return thread;
}

// A wait that may have been over before it began: a thread with excess keeps it.
void EndTeamWaitOf(delay::ThreadLedger& thread, uint64_t waker_local_delay_ns) {
  if (CallerOwes(thread)) {
    io_internal::EndOwing(thread, t_team.wait, waker_local_delay_ns);
  } else {
    delay::EndWaitUncredited(thread);
  }
}

void EndTeamWait(uint64_t waker_local_delay_ns) {
  delay::ThreadLedger* thread = TakeTeamWaiter();
  if (thread != nullptr) EndTeamWaitOf(*thread, waker_local_delay_ns);
}

// Ends a wait in which the thread did wait for a thread of that local delay: whatever excess it had
// is absorbed, and the other's taken over.
void EndTeamWaitFor(uint64_t waker_local_delay_ns) {
  delay::ThreadLedger* thread = TakeTeamWaiter();
  if (thread == nullptr) return;
  if (CallerOwes(*thread)) return EndTeamWaitOf(*thread, waker_local_delay_ns);
  const uint64_t imposed_ns =
      thread->imposed_ns.load(std::memory_order_relaxed) - t_team.wait.imposed_ns;
  const uint64_t level_ns = waker_local_delay_ns + imposed_ns;
  if (level_ns == thread->local_delay_ns.load(std::memory_order_relaxed)) {
    return delay::EndWaitUncredited(*thread);
  }
  delay::EndWaitCreditedBy(*thread, t_team.wait, MonotonicNowNs(), level_ns);
  PayAfterWait();
}

// Ends a wait for the last to arrive, which may be the thread itself.
void EndTeamWaitAt(const Arrival& arrival) {
  const delay::ThreadLedger* last = arrival.thread.load(std::memory_order_relaxed);
  if (last == nullptr || last == CurrentThreadLedger()) return EndTeamWait(GlobalDelayNs());
  EndTeamWaitFor(arrival.local_delay_ns.load(std::memory_order_relaxed));
}

// A wait for others of the team that is over when `call` returns; they have paid before they came.
template <typename Call>
auto WaitForTeam(Call call) {
  BeginTeamWait();
  const auto result = call();
  if (CurrentThreadLedger() != nullptr) EndTeamWait(GlobalDelayNs());
  return result;
}

// The same where all of the team wait for each other.
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

// A wait for a lock, in which no tasks are run.
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

// `call` starts the region with the body and data it is given.
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

// What stands before a task's arguments.
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

// The real function, for whoever called the entry point: the caller decides whose libgomp it means.
#define COZ_REAL(name) RealOpenmpCall<decltype(Coz##name)>(g_##name, __builtin_return_address(0))

#define COZ_X(shape, version, result, name, parameters, arguments) \
  OpenmpCall g_##name{#name};                                      \
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

// Older compilers give fewer arguments; libgomp looks at the last ones only where the flags say so.
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
