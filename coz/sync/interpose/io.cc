// Reading and writing: pipes, eventfds, sockets, files. Process: target. Context: the program's
// threads and signal handlers.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "coz/base/raw_syscall.h"
#include "coz/base/reserved_descriptors.h"
#include "coz/sync/interpose/file_lock.h"
#include "coz/sync/interpose/io_wait.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

// Makes `call`, which moves data from `in` to `out`, and may wait for either. The one whose waker
// has the larger local delay is taken to have ended the wait.
template <typename Call>
ssize_t CallBetween(int in, int out, Call call) {
  const uint64_t paid_ns = PayBeforeIo(out, IoSide::kOutput);
  NoteWakesThrough(out, IoSide::kOutput);
  return WaitHavingPaid(
      paid_ns, call,
      [=](ssize_t result) {
        if (result < 0) return uint64_t{0};
        return std::max(WakerThrough(in, IoSide::kInput), WakerThrough(out, IoSide::kOutput));
      },
      [=](ssize_t result, uint64_t) {
        const bool is_by_tree =
            IsWokenByTree(in, IoSide::kInput) || IsWokenByTree(out, IoSide::kOutput);
        return result >= 0 && !is_by_tree ? WaitKindOf(in, IoSide::kInput) : delay::WaitKind::kNone;
      });
}

// Which end of a pipe `fd` is.
IoSide SideOf(int fd) {
  if (CurrentThreadLedger() == nullptr || HasLeftThreadSync()) return IoSide::kOutput;
  const long flags = RawSyscall(SYS_fcntl, fd, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) == O_RDONLY ? IoSide::kInput : IoSide::kOutput;
}

}  // namespace
}  // namespace coz::interpose

using coz::interpose::CallBetween;
using coz::interpose::CallIo;
using coz::interpose::g_real;
using coz::interpose::IoSide;
using coz::interpose::SideOf;

extern "C" {

ssize_t read(int fd, void* buffer, size_t count) {
  return CallIo(fd, IoSide::kInput, [=] { return g_real.read(fd, buffer, count); });
}
COZ_SECOND_NAME(__read, read);

// Programs that were built with _FORTIFY_SOURCE call this one.
ssize_t __read_chk(int fd, void* buffer, size_t count, size_t capacity) {
  return CallIo(fd, IoSide::kInput, [=] { return g_real.__read_chk(fd, buffer, count, capacity); });
}

ssize_t readv(int fd, const iovec* parts, int count) {
  return CallIo(fd, IoSide::kInput, [=] { return g_real.readv(fd, parts, count); });
}

ssize_t write(int fd, const void* buffer, size_t count) {
  return CallIo(fd, IoSide::kOutput, [=] { return g_real.write(fd, buffer, count); });
}
COZ_SECOND_NAME(__write, write);

ssize_t writev(int fd, const iovec* parts, int count) {
  return CallIo(fd, IoSide::kOutput, [=] { return g_real.writev(fd, parts, count); });
}

int eventfd(unsigned value, int flags) noexcept {
  const int fd = g_real.eventfd(value, flags);
  if (fd >= 0) coz::interpose::NoteAnonymous(fd);
  return fd;
}

int eventfd_read(int fd, eventfd_t* value) {
  return CallIo(fd, IoSide::kInput, [=] { return g_real.eventfd_read(fd, value); });
}

int eventfd_write(int fd, eventfd_t value) {
  return CallIo(fd, IoSide::kOutput, [=] { return g_real.eventfd_write(fd, value); });
}

// `in` is a file, so only `out` is a wait.
ssize_t sendfile(int out, int in, off_t* offset, size_t count) noexcept {
  return CallIo(out, IoSide::kOutput, [=] { return g_real.sendfile(out, in, offset, count); });
}

ssize_t sendfile64(int out, int in, off64_t* offset, size_t count) noexcept {
  return CallIo(out, IoSide::kOutput, [=] { return g_real.sendfile64(out, in, offset, count); });
}

ssize_t splice(int in, off64_t* in_offset, int out, off64_t* out_offset, size_t count,
               unsigned flags) {
  coz::interpose::PayBeforeIo(in, IoSide::kInput);
  coz::interpose::NoteWakesThrough(in, IoSide::kInput);
  return CallBetween(in, out,
                     [=] { return g_real.splice(in, in_offset, out, out_offset, count, flags); });
}

// tee takes nothing from `in`, so it wakes nobody there.
ssize_t tee(int in, int out, size_t count, unsigned flags) {
  return CallBetween(in, out, [=] { return g_real.tee(in, out, count, flags); });
}

ssize_t vmsplice(int fd, const iovec* parts, size_t count, unsigned flags) {
  return CallIo(fd, SideOf(fd), [=] { return g_real.vmsplice(fd, parts, count, flags); });
}

// The last close of one end wakes the threads that wait at the other end.
int close(int fd) {
  // Who closes what it finds in /proc/self/fd would report a failure.
  if (__builtin_expect(coz::IsReservedDescriptor(fd), 0)) return 0;
  coz::interpose::PayBeforeIo(fd, IoSide::kOutput);
  coz::interpose::PayBeforeIo(fd, IoSide::kInput);
  coz::interpose::PayBeforeLocksGoWith(fd);
  coz::interpose::NoteNewMeaning(fd);
  return g_real.close(fd);
}
COZ_SECOND_NAME(__close, close);

}  // extern "C"
