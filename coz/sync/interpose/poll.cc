// Waits for any of several descriptors. Process: target. Context: the program's threads.
//
// Calls that take a signal mask keep samples out of the wait, because the program cannot have meant
// to let them in.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "coz/sync/interpose/io_wait.h"
#include "coz/sync/interpose/lately_readable.h"
#include "coz/sync/interpose/reserved_signals.h"
#include "coz/sync/interpose/virtual_timeout.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

// At most this many ready descriptors are asked for their waker.
constexpr int kMaxAsked = 64;

constexpr short kInputEvents = POLLIN | POLLPRI | POLLRDHUP | POLLHUP | POLLERR;

bool IsReadyByTree(const pollfd* fds, nfds_t count) {
  int asked = 0;
  for (nfds_t i = 0; i < count && asked < kMaxAsked; ++i) {
    if (fds[i].revents == 0) continue;
    ++asked;
    const bool has_input = (fds[i].revents & kInputEvents) != 0;
    if (has_input && IsWokenByTree(fds[i].fd, IoSide::kInput)) return true;
    if ((fds[i].revents & POLLOUT) != 0 && IsWokenByTree(fds[i].fd, IoSide::kOutput)) return true;
  }
  return false;
}

bool AreSetsReadyByTree(int count, const fd_set* read_fds, const fd_set* write_fds) {
  int asked = 0;
  for (int fd = 0; fd < count && asked < kMaxAsked; ++fd) {
    const bool reads = read_fds != nullptr && FD_ISSET(fd, read_fds);
    const bool writes = write_fds != nullptr && FD_ISSET(fd, write_fds);
    if (reads || writes) ++asked;
    if (reads && IsWokenByTree(fd, IoSide::kInput)) return true;
    if (writes && IsWokenByTree(fd, IoSide::kOutput)) return true;
  }
  return false;
}

uint64_t WakerOfReady(const pollfd* fds, nfds_t count) {
  uint64_t latest_ns = 0;
  int asked = 0;
  for (nfds_t i = 0; i < count && asked < kMaxAsked; ++i) {
    if (fds[i].revents == 0) continue;
    ++asked;
    if ((fds[i].revents & kInputEvents) != 0) {
      latest_ns = std::max(latest_ns, WakerThrough(fds[i].fd, IoSide::kInput));
    }
    if ((fds[i].revents & POLLOUT) != 0) {
      latest_ns = std::max(latest_ns, WakerThrough(fds[i].fd, IoSide::kOutput));
    }
  }
  return latest_ns;
}

uint64_t WakerOfSets(int count, const fd_set* read_fds, const fd_set* write_fds) {
  uint64_t latest_ns = 0;
  int asked = 0;
  for (int fd = 0; fd < count && asked < kMaxAsked; ++fd) {
    if (read_fds != nullptr && FD_ISSET(fd, read_fds)) {
      ++asked;
      latest_ns = std::max(latest_ns, WakerThrough(fd, IoSide::kInput));
    }
    if (write_fds != nullptr && FD_ISSET(fd, write_fds)) {
      ++asked;
      latest_ns = std::max(latest_ns, WakerThrough(fd, IoSide::kOutput));
    }
  }
  return latest_ns;
}

// Makes `call` as a wait that times out in virtual time. A result of 0 is a time-out;
// `go_on(duration)` then waits for `duration` more. `is_by_tree(start)` says whether a profiled
// thread has ended the wait that began then.
template <typename Call, typename GoOn, typename FindWaker, typename IsByTree>
int WaitForAny(Call call, GoOn go_on, FindWaker find_waker, IsByTree is_by_tree) {
  bool has_timed_out = false;
  const auto call_with_clock = [&] {
    delay::ThreadLedger* const caller = WaitsAreUnits() ? LedgerSoFar() : nullptr;
    if (__builtin_expect(caller == nullptr || HasLeftThreadSync(), 1)) return call();
    const OutsideClock clock = StartOutsideClock(*caller);
    const int result = call();
    has_timed_out = result == 0;
    // A wait that only the clock has ended is a sleep. Its thread's lead counts against what it
    // owes, so it comes before the time-out is extended.
    if (has_timed_out) {
      EndOutsideWait(*caller, clock, 0, [](uint64_t) { return delay::WaitKind::kSleep; });
    }
    return result;
  };
  const auto wait = [&] {
    return GoOnInVirtualTime(
        call_with_clock(), [&](uint64_t owed_ns) { return go_on(DurationOf(owed_ns)); },
        [](int result) { return result == 0; });
  };
  return WaitForIo(
      wait, [&](int result) { return result > 0 ? find_waker() : 0; },
      [&](int result, uint64_t start_ns) {
        if (has_timed_out) return delay::WaitKind::kCounted;
        return result > 0 && !is_by_tree(start_ns) ? delay::WaitKind::kPoll
                                                   : delay::WaitKind::kNone;
      });
}

// Whether a time-out is one of no time. One that cannot be read is none: the call itself reports
// that.
template <typename Time>
bool IsReadableTime(const Time* timeout) {
  return timeout != nullptr && IsLatelyReadable(timeout, sizeof(*timeout));
}
bool IsOver(const timespec* timeout) {
  return IsReadableTime(timeout) && timeout->tv_sec == 0 && timeout->tv_nsec == 0;
}
bool IsOver(const timeval* timeout) {
  return IsReadableTime(timeout) && timeout->tv_sec == 0 && timeout->tv_usec == 0;
}
bool IsOver(int timeout_ms) { return timeout_ms == 0; }

// Whether a call with this time-out only looks, and is no wait. In a crowd what a thread owes
// behind a look is its CPU's debt, which whoever runs there pays at the next call. Without a crowd
// it looks on for so long, as what it looks for may come at a moment that in virtual time was
// before the look.
template <typename Time>
bool OnlyLooks(Time timeout) {
  return CurrentThreadLedger() != nullptr && delay::MayBeCrowded(*sync_internal::g_ledger) &&
         IsOver(timeout);
}

template <typename Call>
int Look(Call call) {
  PayIfBehind<CallsThatEnd::kEach>();
  return call();
}

template <typename Time, typename Call>
int Poll(pollfd* fds, nfds_t count, const sigset_t* mask, Time timeout, Call call) {
  if (OnlyLooks(timeout)) return Look(call);
  return WaitForAny(
      call, [=](timespec more) { return g_real.ppoll(fds, count, &more, mask); },
      [=] { return WakerOfReady(fds, count); },
      [=](uint64_t) { return IsReadyByTree(fds, count); });
}

// The sets that a select waits for, and a copy of them, since a time-out clears them.
class Selection {
 public:
  Selection(int count, fd_set* read_fds, fd_set* write_fds, fd_set* except_fds, bool may_time_out)
      : count_(count), sets_{read_fds, write_fds, except_fds} {
    if (!may_time_out || count < 0 || count > FD_SETSIZE) return;
    for (int i = 0; i < 3; ++i) {
      if (sets_[i] == nullptr) continue;
      if (!IsLatelyReadable(sets_[i], Bytes())) return;
      memcpy(&given_[i], sets_[i], Bytes());
    }
    can_restore_ = true;
  }

  // False for more descriptors than an fd_set is declared for: a thread's stack may have no room
  // for a copy of larger sets.
  bool CanRestore() const { return can_restore_; }
  void Restore() const {
    for (int i = 0; i < 3; ++i) {
      if (sets_[i] != nullptr) memcpy(sets_[i], &given_[i], Bytes());
    }
  }

 private:
  // The kernel takes whole words.
  size_t Bytes() const {
    constexpr size_t kWord = 8 * sizeof(long);
    return (static_cast<size_t>(count_) + kWord - 1) / kWord * sizeof(long);
  }

  int count_;
  fd_set* sets_[3];
  fd_set given_[3];
  bool can_restore_ = false;
};

template <typename Time, typename Call>
int Select(int count, fd_set* read_fds, fd_set* write_fds, fd_set* except_fds, const sigset_t* mask,
           const Time* timeout, Call call) {
  if (OnlyLooks(timeout)) return Look(call);
  const Selection selection(count, read_fds, write_fds, except_fds, timeout != nullptr);
  const auto go_on = [&](timespec more) {
    if (!selection.CanRestore()) return 0;
    selection.Restore();
    return g_real.pselect(count, read_fds, write_fds, except_fds, &more, mask);
  };
  return WaitForAny(
      call, go_on, [=] { return WakerOfSets(count, read_fds, write_fds); },
      [=](uint64_t) { return AreSetsReadyByTree(count, read_fds, write_fds); });
}

template <typename Time, typename Call>
int WaitOnEpoll(int epoll, epoll_event* events, int capacity, const sigset_t* mask, Time timeout,
                Call call) {
  if (OnlyLooks(timeout)) return Look(call);
  const auto go_on = [=](timespec more) {
    const int saved_errno = errno;
    const int result = g_real.epoll_pwait2(epoll, events, capacity, &more, mask);
    if (result >= 0 || (errno != ENOSYS && errno != EPERM)) return result;
    errno =
        // A kernel before 5.11 lacks the call, and a filter may forbid it. A pause pays instead.
        saved_errno;
    return 0;
  };
  return WaitForAny(
      call, go_on, [=] { return WakerBy(EpollKey(epoll)); },
      [=](uint64_t start_ns) { return IsWokenByTreeSince(EpollKey(epoll), start_ns); });
}

// Runs `call` with a mask that keeps samples out of the wait, where the program gave a mask.
template <typename Call>
int WithSamplesMasked(const sigset_t* mask, Call call) {
  if (mask == nullptr || !IsReadableSet(mask)) return call(mask);
  const sigset_t with_ours = WithReservedSignals(*mask);
  return call(&with_ours);
}

// libc declares that poll only writes to its array. So gcc believes that a pointer which is passed
// on leads to uninitialized memory. This hides the pointer's origin from gcc.
inline pollfd* AsWritten(pollfd* fds) {
  asm("" : "+r"(fds));
  return fds;
}

// The global delay when the descriptor was last noted. A descriptor's addresses may change after it
// was added (connect). So it is noted again when the program changes what it waits for, but only if
// delay was inserted meanwhile.
std::atomic<uint64_t> g_noted_ns[io_internal::kDescriptors];

void NoteEpollControl(int epoll, int operation, int fd, const epoll_event* event) {
  if (event == nullptr || CurrentThreadLedger() == nullptr) return;
  const uint64_t global_ns =
      sync_internal::g_ledger->global_delay_ns.load(std::memory_order_relaxed);
  std::atomic<uint64_t>& noted_ns =
      g_noted_ns[static_cast<unsigned>(fd) % io_internal::kDescriptors];
  const bool changed =
      operation == EPOLL_CTL_MOD && noted_ns.load(std::memory_order_relaxed) < global_ns;
  if (operation != EPOLL_CTL_ADD && !changed) return;
  noted_ns.store(global_ns, std::memory_order_relaxed);
  if ((event->events & (EPOLLIN | EPOLLRDHUP)) != 0) NoteWatcher(fd, IoSide::kInput, epoll);
  if ((event->events & EPOLLOUT) != 0) NoteWatcher(fd, IoSide::kOutput, epoll);
}

}  // namespace
}  // namespace coz::interpose

using coz::interpose::g_real;
using coz::interpose::WithSamplesMasked;

extern "C" {

int poll(pollfd* given, nfds_t count, int timeout_ms) {
  pollfd* const fds = coz::interpose::AsWritten(given);
  return coz::interpose::Poll(fds, count, nullptr, timeout_ms,
                              [=] { return g_real.poll(fds, count, timeout_ms); });
}
COZ_SECOND_NAME(__poll, poll);

int __poll_chk(pollfd* fds, nfds_t count, int timeout_ms, size_t capacity) {
  return coz::interpose::Poll(fds, count, nullptr, timeout_ms,
                              [=] { return g_real.__poll_chk(fds, count, timeout_ms, capacity); });
}

int ppoll(pollfd* given, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  pollfd* const fds = coz::interpose::AsWritten(given);
  return WithSamplesMasked(mask, [=](const sigset_t* m) {
    return coz::interpose::Poll(fds, count, m, timeout,
                                [=] { return g_real.ppoll(fds, count, timeout, m); });
  });
}

int __ppoll_chk(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask,
                size_t capacity) {
  return WithSamplesMasked(mask, [=](const sigset_t* m) {
    return coz::interpose::Poll(fds, count, m, timeout, [=] {
      return g_real.__ppoll_chk(fds, count, timeout, m, capacity);
    });
  });
}

int select(int count, fd_set* read_fds, fd_set* write_fds, fd_set* except_fds, timeval* timeout) {
  return coz::interpose::Select(count, read_fds, write_fds, except_fds, nullptr, timeout, [=] {
    return g_real.select(count, read_fds, write_fds, except_fds, timeout);
  });
}
COZ_SECOND_NAME(__select, select);

int pselect(int count, fd_set* read_fds, fd_set* write_fds, fd_set* except_fds,
            const timespec* timeout, const sigset_t* mask) {
  return WithSamplesMasked(mask, [=](const sigset_t* m) {
    return coz::interpose::Select(count, read_fds, write_fds, except_fds, m, timeout, [=] {
      return g_real.pselect(count, read_fds, write_fds, except_fds, timeout, m);
    });
  });
}

int epoll_create(int size) noexcept {
  const int fd = g_real.epoll_create(size);
  if (fd >= 0) coz::interpose::NoteAnonymous(fd);
  return fd;
}

int epoll_create1(int flags) noexcept {
  const int fd = g_real.epoll_create1(flags);
  if (fd >= 0) coz::interpose::NoteAnonymous(fd);
  return fd;
}

int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept {
  const int result = g_real.epoll_ctl(epoll, operation, fd, event);
  if (result == 0) coz::interpose::NoteEpollControl(epoll, operation, fd, event);
  return result;
}

int epoll_wait(int epoll, epoll_event* events, int capacity, int timeout_ms) {
  return coz::interpose::WaitOnEpoll(epoll, events, capacity, nullptr, timeout_ms, [=] {
    return g_real.epoll_wait(epoll, events, capacity, timeout_ms);
  });
}

int epoll_pwait(int epoll, epoll_event* events, int capacity, int timeout_ms,
                const sigset_t* mask) {
  return WithSamplesMasked(mask, [=](const sigset_t* m) {
    return coz::interpose::WaitOnEpoll(epoll, events, capacity, m, timeout_ms, [=] {
      return g_real.epoll_pwait(epoll, events, capacity, timeout_ms, m);
    });
  });
}

int epoll_pwait2(int epoll, epoll_event* events, int capacity, const timespec* timeout,
                 const sigset_t* mask) {
  return WithSamplesMasked(mask, [=](const sigset_t* m) {
    return coz::interpose::WaitOnEpoll(epoll, events, capacity, m, timeout, [=] {
      return g_real.epoll_pwait2(epoll, events, capacity, timeout, m);
    });
  });
}

}  // extern "C"
