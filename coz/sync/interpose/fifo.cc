// Opening of files, which waits for the other end where the file is a FIFO. Process: target.
// Context: the program's threads and signal handlers.
//
// A FIFO is known by its path alone. To ask for that before each call would cost about as much as
// the call. So nobody asks before a process of the program has made a FIFO, or has waited for one.
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cstring>

#include "coz/base/raw_syscall.h"
#include "coz/base/readable.h"
#include "coz/sync/interpose/io_wait.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

bool HasFifos() { return TheIoTables().has_fifos.load(std::memory_order_relaxed) != 0; }
void NoteFifo() { TheIoTables().has_fifos.store(1, std::memory_order_relaxed); }

bool IsFifo(const struct stat& status) { return S_ISFIFO(status.st_mode); }

bool FindFifo(int folder, const char* path, struct stat* status) {
  return RawSyscall(SYS_newfstatat, folder, path, status, 0) == 0 && IsFifo(*status);
}

// Of what a call has opened; -1 where it has failed.
int DescriptorOf(int fd) { return fd; }
int DescriptorOf(FILE* stream) { return stream != nullptr ? fileno_unlocked(stream) : -1; }

// Makes `call` of a profiled thread, and notes a FIFO whose opening took so long that the caller
// has waited.
template <typename Call>
auto CallAndLook(Call call) {
  const delay::ThreadLedger* const caller = CurrentThreadLedger();
  const bool matters =
      WaitsAreUnits() || caller->local_delay_ns.load(std::memory_order_relaxed) != 0;
  if (__builtin_expect(!matters, 1)) return call();
  constexpr uint64_t kLongestWithoutWaitNs = 20'000;
  const uint64_t start_ns = MonotonicNowNs();
  const auto result = call();
  if (MonotonicNowNs() - start_ns < kLongestWithoutWaitNs) return result;
  struct stat status;
  const int fd = DescriptorOf(result);
  if (fd >= 0 && RawSyscall(SYS_fstat, fd, &status) == 0 && IsFifo(status)) NoteFifo();
  return result;
}

void TellOfOpening(const struct stat& fifo, int flags) {
  const int access = flags & O_ACCMODE;
  if (access != O_WRONLY) PayBeforeWaking(FifoKey(fifo, IoSide::kInput));
  if (access != O_RDONLY) PayBeforeWaking(FifoKey(fifo, IoSide::kOutput));
}

// Makes `call`, which opens a FIFO.
template <typename Call>
auto OpenFifo(const struct stat& fifo, int flags, Call call) {
  TellOfOpening(fifo, flags);
  const int access = flags & O_ACCMODE;
  if ((flags & O_NONBLOCK) != 0 || access == O_RDWR) return call();
  const uint64_t other_end = FifoKey(fifo, access == O_RDONLY ? IoSide::kOutput : IoSide::kInput);
  return WaitForIo(
      call, [=](auto result) { return DescriptorOf(result) >= 0 ? WakerBy(other_end) : 0; },
      [=](auto result, uint64_t start_ns) {
        return DescriptorOf(result) >= 0 && !IsWokenByTreeSince(other_end, start_ns)
                   ? delay::WaitKind::kPipe
                   : delay::WaitKind::kNone;
      });
}

template <typename Call>
auto Open(int folder, const char* path, int flags, Call call) {
  if (CurrentThreadLedger() == nullptr || HasLeftThreadSync()) return call();
  if (__builtin_expect(!HasFifos(), 1)) return CallAndLook(call);
  struct stat fifo;
  if ((flags & (O_PATH | O_DIRECTORY)) != 0 || !FindFifo(folder, path, &fifo)) return call();
  return OpenFifo(fifo, flags, call);
}

// The access that the mode of fopen(3) asks for.
int AccessOf(const char* mode) {
  if (strchr(mode, '+') != nullptr) return O_RDWR;
  return mode[0] == 'r' ? O_RDONLY : O_WRONLY;
}

int NoteIfMade(int result) {
  if (result == 0 && LedgerSoFar() != nullptr && !HasLeftThreadSync()) NoteFifo();
  return result;
}

}  // namespace
}  // namespace coz::interpose

using coz::interpose::g_real;
using coz::interpose::Open;

// Not variadic: the mode, if there is one, arrives in a register.
extern "C" {
int CozOpen(const char* path, int flags, mode_t mode) asm("open");
int CozOpenat(int folder, const char* path, int flags, mode_t mode) asm("openat");
// Programs that were built with _FORTIFY_SOURCE call these.
int CozOpen2(const char* path, int flags) asm("__open_2");
int CozOpen64Checked(const char* path, int flags) asm("__open64_2");
int CozOpenat2(int folder, const char* path, int flags) asm("__openat_2");
int CozOpenat64Checked(int folder, const char* path, int flags) asm("__openat64_2");

int CozOpen(const char* path, int flags, mode_t mode) {
  return Open(AT_FDCWD, path, flags, [=] { return g_real.open(path, flags, mode); });
}
COZ_SECOND_NAME(open64, open);
COZ_SECOND_NAME(__open, open);
COZ_SECOND_NAME(__open64, open);

int CozOpenat(int folder, const char* path, int flags, mode_t mode) {
  return Open(folder, path, flags, [=] { return g_real.openat(folder, path, flags, mode); });
}
COZ_SECOND_NAME(openat64, openat);

int CozOpen2(const char* path, int flags) {
  return Open(AT_FDCWD, path, flags, [=] { return g_real.__open_2(path, flags); });
}

int CozOpen64Checked(const char* path, int flags) {
  return Open(AT_FDCWD, path, flags, [=] { return g_real.__open64_2(path, flags); });
}

int CozOpenat2(int folder, const char* path, int flags) {
  return Open(folder, path, flags, [=] { return g_real.__openat_2(folder, path, flags); });
}

int CozOpenat64Checked(int folder, const char* path, int flags) {
  return Open(folder, path, flags, [=] { return g_real.__openat64_2(folder, path, flags); });
}

int creat(const char* path, mode_t mode) {
  return Open(AT_FDCWD, path, O_WRONLY, [=] { return g_real.creat(path, mode); });
}
COZ_SECOND_NAME(creat64, creat);

FILE* fopen(const char* path, const char* mode) {
  return Open(AT_FDCWD, path, coz::interpose::AccessOf(mode),
              [=] { return g_real.fopen(path, mode); });
}
COZ_SECOND_NAME(fopen64, fopen);
COZ_SECOND_NAME(_IO_fopen, fopen);

int mkfifo(const char* path, mode_t mode) noexcept {
  return coz::interpose::NoteIfMade(g_real.mkfifo(path, mode));
}

int mkfifoat(int folder, const char* path, mode_t mode) noexcept {
  return coz::interpose::NoteIfMade(g_real.mkfifoat(folder, path, mode));
}

}  // extern "C"
