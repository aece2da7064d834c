#include "coz/sampler/clock_events.h"

#include <sys/syscall.h>

#include <atomic>
#include <cerrno>

#include "coz/base/raw_syscall.h"
#include "coz/base/reserved_descriptors.h"
#include "coz/sampler/perf_event.h"

namespace coz::sampler {
namespace {

// Threads that are there when clocks become the source; later ones inherit their events.
constexpr int kMostEvents = 1 << 10;

// Descriptors + 1; 0: none.
std::atomic<int> g_events[kMostEvents];

bool Keep(int fd) {
  if (!ReserveDescriptor(fd)) return false;
  for (std::atomic<int>& event : g_events) {
    int none = 0;
    if (event.load(std::memory_order_relaxed) == 0 && event.compare_exchange_strong(none, fd + 1))
      return true;
  }
  ReleaseDescriptor(fd);
  return false;
}

template <typename Function>
void ForEachEvent(Function function) {
  for (const std::atomic<int>& event : g_events) {
    const int fd_plus_1 = event.load();
    if (fd_plus_1 > 0) function(fd_plus_1 - 1);
  }
}

}  // namespace

int AddClockEvent(int32_t tid, const ClockExpiry& expiry) {
  const int fd = OpenClockExpiries(tid, expiry);
  if (fd < 0) return fd;
  int result = Keep(fd) ? EnablePerfEvent(fd) : -EMFILE;
  if (result == 0) return 0;
  NoteClockEventMove(fd, -1);
  ReleaseDescriptor(fd);
  RawSyscall(SYS_close, fd);
  return result;
}

void EnableClockEvents() { ForEachEvent(EnablePerfEvent); }

void DisableClockEvents() { ForEachEvent(DisablePerfEvent); }

void CloseClockEvents() {
  for (std::atomic<int>& event : g_events) {
    const int fd = event.exchange(0) - 1;
    if (fd < 0) continue;
    DisablePerfEvent(fd);
    if (ReleaseDescriptor(fd)) RawSyscall(SYS_close, fd);
  }
}

void ForgetClockEvents() {
  for (std::atomic<int>& event : g_events) event.store(0, std::memory_order_relaxed);
}

void NoteClockEventMove(int from, int to) {
  for (std::atomic<int>& event : g_events) {
    int old = from + 1;
    event.compare_exchange_strong(old, to + 1);
  }
}

}  // namespace coz::sampler
