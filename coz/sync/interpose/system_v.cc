// System V semaphores and message queues. Process: target. Context: the program's threads.
//
// The identifier of a set or a queue is the same in all processes, so it makes the key.
#include <sys/msg.h>
#include <sys/sem.h>

#include <algorithm>
#include <cerrno>

#include "coz/sync/interpose/io_wait.h"
#include "coz/sync/interpose/lately_readable.h"
#include "coz/sync/interpose/virtual_timeout.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

// Leaves the caller's local delay under `key`, where it is not there yet. The caller has paid.
void TellOnce(const delay::ThreadLedger& caller, uint64_t key) {
  if (WakerBy(key) != delay::LocalDelayForWakees(*sync_internal::g_ledger, caller)) {
    PayBeforeWaking(key);
  } else {
    NoteWakeBy(key);
  }
}

// Whether there is anything to tell: some delay has been imposed, or waits are units.
bool HasNews(const delay::ThreadLedger& caller) {
  return caller.local_delay_ns.load(std::memory_order_relaxed) != 0 || WaitsAreUnits();
}

// The operations of one call, as the kernel will read them.
struct Operations {
  const sembuf* first;
  size_t count;
  const sembuf* begin() const { return first; }
  const sembuf* end() const { return first + count; }
};

// What an operation waits for; 0 where it does not wait.
uint64_t AwaitedBy(int set, const sembuf& operation) {
  if (operation.sem_op > 0) return 0;
  return SemaphoreKey(set, operation.sem_num,
                      operation.sem_op < 0 ? SemaphoreMove::kUp : SemaphoreMove::kDown);
}

void TellOfOperations(int set, const Operations& operations) {
  constexpr size_t kMost = 500;  // of the kernel (SEMOPM)
  const delay::ThreadLedger* const caller = CurrentThreadLedger();
  if (caller == nullptr) return;
  PayIfBehind<CallsThatEnd::kEach>();
  if (!HasNews(*caller) || operations.count > kMost ||
      !IsLatelyReadable(operations.first, operations.count * sizeof(sembuf))) {
    return;
  }
  for (const sembuf& operation : operations) {
    if (operation.sem_op == 0) continue;
    TellOnce(*caller,
             SemaphoreKey(set, operation.sem_num,
                          operation.sem_op > 0 ? SemaphoreMove::kUp : SemaphoreMove::kDown));
  }
}

// Makes `call`. The kernel has read the operations of one that has succeeded.
template <typename Call>
int CallSemaphores(int set, const Operations& operations, Call call) {
  TellOfOperations(set, operations);
  const auto find_waker = [=](int result) {
    uint64_t latest_ns = 0;
    if (result != 0) return latest_ns;
    for (const sembuf& operation : operations) {
      latest_ns = std::max(latest_ns, WakerBy(AwaitedBy(set, operation)));
    }
    return latest_ns;
  };
  const auto kind_of = [=](int result, uint64_t start_ns) {
    if (result != 0) return delay::WaitKind::kNone;
    for (const sembuf& operation : operations) {
      const uint64_t key = AwaitedBy(set, operation);
      if (key != 0 && IsWokenByTreeSince(key, start_ns)) return delay::WaitKind::kNone;
    }
    return delay::WaitKind::kSemaphore;
  };
  return WaitHavingPaid(kNotRead, call, find_waker, kind_of);
}

// An operation that must not wait fails with the same error as one whose time is over.
bool HasTimedOut(int result, const Operations& operations) {
  return result < 0 && errno == EAGAIN &&
         std::none_of(operations.begin(), operations.end(), [](const sembuf& operation) {
           return (operation.sem_flg & IPC_NOWAIT) != 0;
         });
}

enum class QueueSide { kSends, kReceives };

template <typename Call>
auto CallMessages(int queue, QueueSide side, Call call) {
  const uint64_t arrival = MessagesKey(queue, IoSide::kOutput);
  const uint64_t room = MessagesKey(queue, IoSide::kInput);
  const uint64_t awaited = side == QueueSide::kSends ? room : arrival;
  if (const delay::ThreadLedger* caller = CurrentThreadLedger()) {
    PayIfBehind<CallsThatEnd::kEach>();
    if (HasNews(*caller)) TellOnce(*caller, side == QueueSide::kSends ? arrival : room);
  }
  const auto find_waker = [=](auto result) { return result >= 0 ? WakerBy(awaited) : 0; };
  const auto kind_of = [=](auto result, uint64_t) {
    return result >= 0 && !IsWokenByTree(awaited) ? delay::WaitKind::kMessages
                                                  : delay::WaitKind::kNone;
  };
  if (side == QueueSide::kReceives) return WaitHavingPaid(kNotRead, call, find_waker, kind_of);
  return WaitHavingPaid<IoWait::kOutput>(kNotRead, call, find_waker, kind_of);
}

// Whether the call of semctl changes values, for which threads may wait.
bool ChangesValues(int command) {
  return command == SETVAL || command == SETALL || command == IPC_RMID;
}

void PayBeforeControl(int set, int number, int command) {
  if (!ChangesValues(command)) return;
  const delay::ThreadLedger* const caller = CurrentThreadLedger();
  if (caller == nullptr) return;
  PayIfBehind();
  if (command != SETVAL || !HasNews(*caller)) return;
  for (const SemaphoreMove move : {SemaphoreMove::kUp, SemaphoreMove::kDown}) {
    TellOnce(*caller, SemaphoreKey(set, static_cast<unsigned>(number), move));
  }
}

}  // namespace
}  // namespace coz::interpose

using coz::interpose::CallMessages;
using coz::interpose::CallSemaphores;
using coz::interpose::g_real;
using coz::interpose::QueueSide;

extern "C" {

int semop(int set, sembuf* operations, size_t count) noexcept {
  return CallSemaphores(set, {operations, count},
                        [=] { return g_real.semop(set, operations, count); });
}

int semtimedop(int set, sembuf* operations, size_t count, const timespec* duration) noexcept {
  return CallSemaphores(set, {operations, count}, [=] {
    return coz::interpose::WaitForInVirtualTime(
        duration,
        [=](const timespec* most) { return g_real.semtimedop(set, operations, count, most); },
        [=](int result) {
          return coz::interpose::HasTimedOut(result, {operations, count});
        });
  });
}

int msgsnd(int queue, const void* message, size_t length, int flags) {
  return CallMessages(queue, QueueSide::kSends,
                      [=] { return g_real.msgsnd(queue, message, length, flags); });
}

ssize_t msgrcv(int queue, void* message, size_t capacity, long type, int flags) {
  return CallMessages(queue, QueueSide::kReceives,
                      [=] { return g_real.msgrcv(queue, message, capacity, type, flags); });
}

}  // extern "C"

// Not variadic: the fourth argument, if there is one, arrives in a register.
extern "C" int CozSemctl(int set, int number, int command, unsigned long argument) asm("semctl");

int CozSemctl(int set, int number, int command, unsigned long argument) {
  coz::interpose::PayBeforeControl(set, number, command);
  return g_real.semctl(set, number, command, argument);
}
