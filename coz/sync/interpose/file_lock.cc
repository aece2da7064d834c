// Locks on files. Process: target. Context: the program's threads and signal handlers.
#include "coz/sync/interpose/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "coz/sync/interpose/io_wait.h"
#include "coz/sync/interpose/lately_readable.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {

std::atomic<uint64_t> file_lock_internal::g_told_plus_1[kDescriptors];

namespace {

using file_lock_internal::ToldPlus1;

uint64_t LocalPlus1(const delay::ThreadLedger& caller) {
  return caller.local_delay_ns.load(std::memory_order_relaxed) + 1;
}

bool WasAskedFor(int fd) { return ToldPlus1(fd).load(std::memory_order_relaxed) != 0; }

void NoteAskedFor(int fd) {
  if (!WasAskedFor(fd)) ToldPlus1(fd).store(1, std::memory_order_relaxed);
}

// Whether a caller that gives way to others has to leave its local delay for them. It has paid.
bool HasNews(const delay::ThreadLedger& caller, int fd) {
  return WaitsAreUnits() || ToldPlus1(fd).load(std::memory_order_relaxed) != LocalPlus1(caller);
}

void Tell(const delay::ThreadLedger& caller, int fd) {
  PayBeforeWaking(FileLockKey(fd));
  ToldPlus1(fd).store(LocalPlus1(caller), std::memory_order_relaxed);
}

// What a call asks for.
enum class Wish {
  kRelease,
  kShare,  // may give way to others, where the caller had the lock for itself
  kOwn,
  kNothing
};

// Pays, since a thread that gets a lock overtakes others. `wish()` is asked only where the caller
// has something to tell.
template <typename FindWish>
void PayBeforeLockCall(int fd, FindWish wish) {
  const delay::ThreadLedger* const caller = CurrentThreadLedger();
  if (caller == nullptr) return;
  PayIfBehind();
  if (__builtin_expect(HasNews(*caller, fd), 0)) {
    const Wish wished = wish();
    if (wished == Wish::kRelease || (wished == Wish::kShare && WasAskedFor(fd))) Tell(*caller, fd);
  }
  NoteAskedFor(fd);
}

// Makes `call`, which waits until it has the lock.
template <typename Call>
int WaitForLock(int fd, Call call) {
  return WaitForIo(
      call, [=](int result) { return result == 0 ? WakerBy(FileLockKey(fd)) : 0; },
      [=](int result, uint64_t start_ns) {
        return result == 0 && !IsWokenByTreeSince(FileLockKey(fd), start_ns)
                   ? delay::WaitKind::kFileLock
                   : delay::WaitKind::kNone;
      });
}

Wish WishOfFlock(int operation) {
  switch (operation & ~LOCK_NB) {
    case LOCK_UN:
      return Wish::kRelease;
    case LOCK_SH:
      return Wish::kShare;
    default:
      return Wish::kOwn;
  }
}

// The kernel reads the lock; a bad pointer is its to report.
Wish WishOfFcntl(unsigned long argument) {
  const auto* const lock = reinterpret_cast<const struct flock*>(argument);
  if (!IsLatelyReadable(lock, sizeof(*lock))) return Wish::kNothing;
  switch (lock->l_type) {
    case F_UNLCK:
      return Wish::kRelease;
    case F_RDLCK:
      return Wish::kShare;
    default:
      return Wish::kOwn;
  }
}

[[gnu::noinline]] int LockByFcntl(int fd, int command, unsigned long argument) {
  PayBeforeLockCall(fd, [=] { return WishOfFcntl(argument); });
  const auto call = [=] { return g_real.fcntl(fd, command, argument); };
  const bool waits = command == F_SETLKW || command == F_OFD_SETLKW;
  return waits ? WaitForLock(fd, call) : call();
}

inline bool IsLockCommand(int command) {
  return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
         command == F_OFD_SETLKW;
}

}  // namespace

void file_lock_internal::ReleaseWith(int fd) {
  const delay::ThreadLedger* const caller = CurrentThreadLedger();
  if (caller != nullptr) {
    PayIfBehind();
    if (HasNews(*caller, fd)) Tell(*caller, fd);
  }
  ToldPlus1(fd).store(0, std::memory_order_relaxed);
}

}  // namespace coz::interpose

using coz::interpose::g_real;
using coz::interpose::PayBeforeLockCall;
using coz::interpose::WaitForLock;
using coz::interpose::Wish;

extern "C" {

int flock(int fd, int operation) noexcept {
  const Wish wish = coz::interpose::WishOfFlock(operation);
  PayBeforeLockCall(fd, [=] { return wish; });
  const auto call = [=] { return g_real.flock(fd, operation); };
  if (wish == Wish::kRelease || (operation & LOCK_NB) != 0) return call();
  return WaitForLock(fd, call);
}

int lockf(int fd, int command, off_t length) {
  if (command == F_TEST) return g_real.lockf(fd, command, length);
  PayBeforeLockCall(fd, [=] { return command == F_ULOCK ? Wish::kRelease : Wish::kOwn; });
  const auto call = [=] { return g_real.lockf(fd, command, length); };
  return command == F_LOCK ? WaitForLock(fd, call) : call();
}
COZ_SECOND_NAME(lockf64, lockf);

}  // extern "C"

// Not variadic: what the caller has passed arrives in a register, a number or a pointer.
extern "C" int CozFcntl(int fd, int command, unsigned long argument) asm("fcntl");

int CozFcntl(int fd, int command, unsigned long argument) {
  if (__builtin_expect(coz::interpose::IsLockCommand(command), 0)) {
    return coz::interpose::LockByFcntl(fd, command, argument);
  }
  return g_real.fcntl(fd, command, argument);
}
COZ_SECOND_NAME(fcntl64, fcntl);
COZ_SECOND_NAME(__fcntl, fcntl);
