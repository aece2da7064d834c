#include "coz/sampler/timer_table.h"

#include <string.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "coz/base/clock.h"
#include "coz/base/raw_syscall.h"

namespace coz::sampler {
namespace {

// An entry: the thread in the upper half, the kernel's number of the timer + 1 in the lower. 0: the
// place is free. Pages that are not used are not there.
std::atomic<uint64_t> g_entries[kMostTimers];
std::atomic<uint32_t> g_high_water;  // places below it have been used
std::atomic<uint32_t> g_first_free;  // a hint: none before it, mostly

// The kernel has not numbered it yet.
constexpr uint32_t kBeingMade = ~uint32_t{0};

constexpr uint64_t EntryOf(int32_t tid, uint32_t number_plus_1) {
  return static_cast<uint64_t>(static_cast<uint32_t>(tid)) << 32 | number_plus_1;
}
constexpr int32_t ThreadIn(uint64_t entry) { return static_cast<int32_t>(entry >> 32); }
constexpr uint32_t NumberPlus1In(uint64_t entry) { return static_cast<uint32_t>(entry); }

void RaiseTo(std::atomic<uint32_t>* value, uint32_t wanted) {
  uint32_t seen = value->load(std::memory_order_relaxed);
  while (seen < wanted && !value->compare_exchange_weak(seen, wanted)) {
  }
}

void LowerTo(std::atomic<uint32_t>* value, uint32_t wanted) {
  uint32_t seen = value->load(std::memory_order_relaxed);
  while (seen > wanted && !value->compare_exchange_weak(seen, wanted)) {
  }
}

// The place + 1; 0: there is none.
uint32_t TakePlace(uint64_t entry) {
  const uint32_t hint = g_first_free.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < kMostTimers; ++i) {
    const uint32_t place = (hint + i) % kMostTimers;
    uint64_t free = 0;
    if (!g_entries[place].compare_exchange_strong(free, entry)) continue;
    RaiseTo(&g_high_water, place + 1);
    g_first_free.store((place + 1) % kMostTimers, std::memory_order_relaxed);
    return place + 1;
  }
  return 0;
}

// True for the one who frees it.
bool FreePlace(uint32_t place, uint64_t entry) {
  if (entry == 0 || !g_entries[place].compare_exchange_strong(entry, 0)) return false;
  LowerTo(&g_first_free, place);
  return true;
}

template <typename Visit>
void ForEachEntry(Visit visit) {
  const uint32_t end = g_high_water.load();
  for (uint32_t place = 0; place < end; ++place) {
    const uint64_t entry = g_entries[place].load();
    if (entry != 0) visit(place, entry);
  }
}

int Create(clockid_t clock, int32_t tid, int signo, void* value, int* number) {
  sigevent event;
  memset(&event, 0, sizeof(event));
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signo;
  event.sigev_value.sival_ptr = value;
  event._sigev_un._tid = tid;
  return static_cast<int>(RawSyscall(SYS_timer_create, clock, &event, number));
}

timespec TimespecOf(uint64_t ns) {
  return {static_cast<time_t>(ns / kNsPerSecond), static_cast<long>(ns % kNsPerSecond)};
}

int Run(int number, const TimerPeriods& periods) {
  const itimerspec when = {TimespecOf(periods.others_ns), TimespecOf(periods.first_ns)};
  return static_cast<int>(RawSyscall(SYS_timer_settime, number, 0, &when, nullptr));
}

// One that is being made is left to its maker.
void DeleteAt(uint32_t place, uint64_t entry) {
  if (NumberPlus1In(entry) == kBeingMade || !FreePlace(place, entry)) return;
  const int number = static_cast<int>(NumberPlus1In(entry)) - 1;
  // One that cannot be deleted stays, and sends nothing.
  if (RawSyscall(SYS_timer_delete, number) != 0) Run(number, {0, 0});
}

}  // namespace

int StartTimer(clockid_t clock, int32_t tid, const TimerPeriods& periods, int signo,
               HeldTimer* timer) {
  const uint64_t reserved = EntryOf(tid, kBeingMade);
  const uint32_t place_plus_1 = TakePlace(reserved);
  if (place_plus_1 == 0) return -EAGAIN;
  const uint32_t place = place_plus_1 - 1;
  int number = -1;
  int result = Create(clock, tid, signo, &g_entries[place], &number);
  if (result != 0) {
    FreePlace(place, reserved);
    return result;
  }
  // Before it runs: whoever deletes all finds it.
  const HeldTimer made = {place_plus_1, EntryOf(tid, static_cast<uint32_t>(number) + 1)};
  g_entries[place].store(made.entry);
  *timer = made;
  result = Run(number, periods);
  if (result != 0) DeleteTimer(timer);
  return result;
}

void DeleteTimer(HeldTimer* timer) {
  if (timer->place_plus_1 != 0) DeleteAt(timer->place_plus_1 - 1, timer->entry);
  *timer = HeldTimer();
}

bool IsFromTimer(const siginfo_t& info) {
  const auto* const place = static_cast<const std::atomic<uint64_t>*>(info.si_value.sival_ptr);
  return info.si_code == SI_TIMER && place >= &g_entries[0] && place < &g_entries[0] + kMostTimers;
}

HeldTimer TimerThatSent(const siginfo_t& info, int32_t tid) {
  if (!IsFromTimer(info)) return HeldTimer();
  const auto* const place = static_cast<const std::atomic<uint64_t>*>(info.si_value.sival_ptr);
  const HeldTimer sender = {static_cast<uint32_t>(place - &g_entries[0]) + 1,
                            EntryOf(tid, static_cast<uint32_t>(info.si_timerid) + 1)};
  return IsThere(sender) ? sender : HeldTimer();
}

bool IsThere(const HeldTimer& timer) {
  return timer.place_plus_1 != 0 && g_entries[timer.place_plus_1 - 1].load() == timer.entry;
}

bool HasTimer(int32_t tid) {
  bool has = false;
  ForEachEntry([&has, tid](uint32_t, uint64_t entry) { has |= ThreadIn(entry) == tid; });
  return has;
}

void DeleteTimersOf(int32_t tid) {
  ForEachEntry([tid](uint32_t place, uint64_t entry) {
    if (ThreadIn(entry) == tid) DeleteAt(place, entry);
  });
}

void DeleteAllTimers() { ForEachEntry(DeleteAt); }

void ForgetTimers() {
  const uint32_t end = g_high_water.exchange(0);
  for (uint32_t place = 0; place < end; ++place) g_entries[place].store(0);
  g_first_free.store(0);
}

}  // namespace coz::sampler
