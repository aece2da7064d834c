// Reading and writing of files at a place, and waiting until they are on the disk. Process: target.
// Context: the program's threads.
//
// No profiled thread ends such a wait. So nothing is done but where waits for the outside are
// units. preadv2 and pwritev2 also do what readv and writev do.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "coz/sync/interpose/io_wait.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

template <typename Call>
auto CallAtPlace(int fd, IoSide side, Call call) {
  return CallOutside(call, [fd, side] { return WaitKindOf(fd, side); });
}

// The same where the descriptor may be a pipe or a socket, if the place is the next one.
template <typename Call>
auto CallAtPlaceOrNext(int fd, IoSide side, off_t offset, Call call) {
  constexpr off_t kNext = -1;
  return offset == kNext ? CallIo(fd, side, call) : CallAtPlace(fd, side, call);
}

template <typename Call>
int Sync(Call call) {
  return CallOutside(call, [] { return delay::WaitKind::kDiskSync; });
}

}  // namespace
}  // namespace coz::interpose

using coz::interpose::CallAtPlace;
using coz::interpose::CallAtPlaceOrNext;
using coz::interpose::g_real;
using coz::interpose::IoSide;
using coz::interpose::Sync;

extern "C" {

ssize_t pread(int fd, void* buffer, size_t count, off_t offset) {
  return CallAtPlace(fd, IoSide::kInput, [=] { return g_real.pread(fd, buffer, count, offset); });
}
COZ_SECOND_NAME(pread64, pread);
COZ_SECOND_NAME(__pread64, pread);

// Programs that were built with _FORTIFY_SOURCE call this one.
ssize_t __pread_chk(int fd, void* buffer, size_t count, off_t offset, size_t capacity) {
  return CallAtPlace(fd, IoSide::kInput,
                     [=] { return g_real.__pread_chk(fd, buffer, count, offset, capacity); });
}
COZ_SECOND_NAME(__pread64_chk, __pread_chk);

ssize_t pwrite(int fd, const void* buffer, size_t count, off_t offset) {
  return CallAtPlace(fd, IoSide::kOutput, [=] { return g_real.pwrite(fd, buffer, count, offset); });
}
COZ_SECOND_NAME(pwrite64, pwrite);
COZ_SECOND_NAME(__pwrite64, pwrite);

ssize_t preadv(int fd, const iovec* parts, int count, off_t offset) {
  return CallAtPlace(fd, IoSide::kInput, [=] { return g_real.preadv(fd, parts, count, offset); });
}
COZ_SECOND_NAME(preadv64, preadv);

ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  return CallAtPlace(fd, IoSide::kOutput, [=] { return g_real.pwritev(fd, parts, count, offset); });
}
COZ_SECOND_NAME(pwritev64, pwritev);

ssize_t preadv2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  return CallAtPlaceOrNext(fd, IoSide::kInput, offset,
                           [=] { return g_real.preadv2(fd, parts, count, offset, flags); });
}
COZ_SECOND_NAME(preadv64v2, preadv2);

ssize_t pwritev2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  return CallAtPlaceOrNext(fd, IoSide::kOutput, offset,
                           [=] { return g_real.pwritev2(fd, parts, count, offset, flags); });
}
COZ_SECOND_NAME(pwritev64v2, pwritev2);

int fsync(int fd) {
  return Sync([=] { return g_real.fsync(fd); });
}

int fdatasync(int fd) {
  return Sync([=] { return g_real.fdatasync(fd); });
}

int syncfs(int fd) noexcept {
  return Sync([=] { return g_real.syncfs(fd); });
}

int sync_file_range(int fd, off64_t offset, off64_t count, unsigned flags) {
  return Sync([=] { return g_real.sync_file_range(fd, offset, count, flags); });
}

int msync(void* place, size_t length, int flags) {
  return Sync([=] { return g_real.msync(place, length, flags); });
}

}  // extern "C"
