#include "coz/shared/lent_counters.h"

#include <sys/single_threaded.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "coz/base/raw_syscall.h"
#include "coz/base/reserved_descriptors.h"
#include "coz/base/spared_calls.h"
#include "coz/sampler/perf_event.h"

namespace coz::shared {
namespace {

struct Copy {
  int fd;  // of the supervisor until it is copied; -1: none is needed
  uint64_t event;
  uint64_t visits_before;
  uint32_t point;
  PairEnd end;
};
struct Copies {
  uint32_t used;
  Copy copies[kMaxLentCounters];
};

// Copies of the table as of version g_version: all of it, or nothing where a part cannot be had.
// The library's constructor uses it, so it has no constructor of its own.
Copies g_copies;
std::atomic<uint32_t> g_version{0};
// Threads that read the copies, or kTaking. Nobody waits: a handler may have interrupted the very
// thread that it would wait for.
constexpr int kTaking = -1;
std::atomic<int> g_users{0};

bool BeginReading() {
  int users = g_users.load(std::memory_order_relaxed);
  while (users != kTaking) {
    if (g_users.compare_exchange_weak(users, users + 1, std::memory_order_acquire)) return true;
  }
  return false;
}
void EndReading() { g_users.fetch_sub(1, std::memory_order_release); }

void GiveBack(int fd) {
  if (ReleaseDescriptor(fd)) RawSyscall(SYS_close, fd);
}

// A copy whose number is out of the program's way; -1: none.
int CopyOf(int supervisor, const Copy& lent, bool one_thread) {
  const int copy = static_cast<int>(SparedRawCall<SYS_pidfd_getfd>(supervisor, lent.fd, 0));
  if (copy < 0) return -1;
  const int moved = one_thread ? sampler::MoveBeyondLimit(copy) : sampler::MoveOutOfTheWay(copy);
  if (moved != copy && sampler::PerfEventId(moved) == lent.event && ReserveDescriptor(moved))
    return moved;
  RawSyscall(SYS_close, moved);
  return -1;
}

// False while the supervisor writes it.
bool ReadTable(const LentCounters& lent, uint32_t version, Copies* table) {
  table->used = std::min(lent.used.load(std::memory_order_relaxed), kMaxLentCounters);
  for (uint32_t i = 0; i < table->used; ++i) {
    const LentCounter& counter = lent.counters[i];
    table->copies[i] = {
        counter.fd.load(std::memory_order_relaxed), counter.event.load(std::memory_order_relaxed),
        counter.visits_before.load(std::memory_order_relaxed),
        counter.point.load(std::memory_order_relaxed), counter.end.load(std::memory_order_relaxed)};
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  return version % 2 == 0 && lent.version.load(std::memory_order_relaxed) == version;
}

// Takes the copy of this event out of `from`; -1 where there is none.
int TakeFrom(Copies* from, uint64_t event) {
  for (uint32_t i = 0; i < from->used; ++i) {
    Copy& copy = from->copies[i];
    if (copy.fd >= 0 && copy.event == event) return std::exchange(copy.fd, -1);
  }
  return -1;
}

void CloseAll(const Copies& copies) {
  for (uint32_t i = 0; i < copies.used; ++i) {
    if (copies.copies[i].fd >= 0) GiveBack(copies.copies[i].fd);
  }
}

// Replaces the supervisor's descriptors in `table` by copies: those in `before`, or new ones.
// False: one cannot be had, and `table` is empty.
bool CopyAll(pid_t supervisor_pid, Copies* before, Copies* table, bool one_thread) {
  int supervisor = -1;
  uint32_t done = 0;
  for (; done < table->used; ++done) {
    Copy& copy = table->copies[done];
    if (copy.fd < 0) continue;
    int fd = TakeFrom(before, copy.event);
    if (fd < 0 && supervisor < 0) {
      supervisor = static_cast<int>(SparedRawCall<SYS_pidfd_open>(supervisor_pid, 0));
    }
    if (fd < 0 && supervisor >= 0) fd = CopyOf(supervisor, copy, one_thread);
    if (fd < 0) break;
    copy.fd = fd;
  }
  if (supervisor >= 0) RawSyscall(SYS_close, supervisor);
  if (done == table->used) return true;
  table->used = done;
  CloseAll(*table);
  table->used = 0;
  return false;
}

void Update(const ControlBlock& control, bool one_thread) {
  int none = 0;
  if (!g_users.compare_exchange_strong(none, kTaking, std::memory_order_acquire)) return;
  const uint32_t version = control.lent_counters.version.load(std::memory_order_acquire);
  Copies table;
  if (version != g_version.load(std::memory_order_relaxed) &&
      ReadTable(control.lent_counters, version, &table)) {
    // A failure is final for this version of the table.
    CopyAll(control.supervisor_pid, &g_copies, &table, one_thread);
    CloseAll(g_copies);
    g_copies = table;
    g_version.store(version, std::memory_order_relaxed);
  }
  g_users.store(0, std::memory_order_release);
}

bool Sum(uint32_t point, PairEnd end, uint64_t* visits) {
  bool any = false;
  *visits = 0;
  for (uint32_t i = 0; i < g_copies.used; ++i) {
    const Copy& copy = g_copies.copies[i];
    if (copy.point != point || copy.end != end) continue;
    any = true;
    *visits += copy.visits_before;
    if (copy.fd < 0) continue;
    uint64_t count = 0;
    // The program may have put another file in its place.
    if (sampler::PerfEventId(copy.fd) != copy.event ||
        RawSyscall(SYS_read, copy.fd, &count, sizeof(count)) != sizeof(count)) {
      return false;
    }
    *visits += count;
  }
  return any;
}

}  // namespace

void TakeLentCounters(const ControlBlock& control) { Update(control, /*one_thread=*/true); }

void ForgetLentCounters() {
  g_copies.used = 0;
  g_version.store(0, std::memory_order_relaxed);
  g_users.store(0, std::memory_order_relaxed);
}

bool ReadLentVisits(const ControlBlock& control, uint32_t point, PairEnd end, uint64_t* visits) {
  const uint32_t version = control.lent_counters.version.load(std::memory_order_acquire);
  if (g_version.load(std::memory_order_relaxed) != version) {
    Update(control, __libc_single_threaded != 0);
  }
  if (!BeginReading()) return false;
  const bool read = g_version.load(std::memory_order_relaxed) == version && Sum(point, end, visits);
  EndReading();
  return read;
}

}  // namespace coz::shared
