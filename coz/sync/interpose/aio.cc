// POSIX asynchronous input and output. Process: target. Context: the program's threads and signal
// handlers.
//
// A thread of libc reads and writes. That thread is not profiled: whoever asks it to write pays
// first, and whoever waits for its read takes over what the writer on the other side has left.
#include <aio.h>

#include <algorithm>
#include <cerrno>

#include "coz/sync/interpose/io_wait.h"
#include "coz/sync/interpose/virtual_timeout.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

IoSide SideOf(const aiocb& request) {
  return (request.aio_lio_opcode & 127) == LIO_WRITE ? IoSide::kOutput : IoSide::kInput;
}

// Calls `visit` with each request of the list that has ended. libc has read the list.
template <typename Visit>
void ForEachEnded(const aiocb* const* list, int count, Visit visit) {
  for (int i = 0; i < count; ++i) {
    const aiocb* const request = list[i];
    if (request == nullptr || aio_error(request) == EINPROGRESS) continue;
    visit(request->aio_fildes, SideOf(*request));
  }
}

uint64_t WakerOfEnded(const aiocb* const* list, int count) {
  uint64_t latest_ns = 0;
  ForEachEnded(list, count, [&](int fd, IoSide side) {
    latest_ns = std::max(latest_ns, WakerThrough(fd, side));
  });
  return latest_ns;
}

// What the first of those that have ended has waited for, where none is of the program.
delay::WaitKind KindOfEnded(const aiocb* const* list, int count) {
  delay::WaitKind kind = delay::WaitKind::kNone;
  bool is_by_tree = false;
  ForEachEnded(list, count, [&](int fd, IoSide side) {
    if (kind == delay::WaitKind::kNone) kind = WaitKindOf(fd, side);
    is_by_tree = is_by_tree || IsWokenByTree(fd, side);
  });
  return is_by_tree ? delay::WaitKind::kNone : kind;
}

template <typename Call>
int StartRequest(const aiocb* request, IoSide side, Call call) {
  if (CurrentThreadLedger() != nullptr) {
    PayBeforeIo(request->aio_fildes, side);
    NoteWakesThrough(request->aio_fildes, side);
  }
  return call();
}

}  // namespace
}  // namespace coz::interpose

using coz::interpose::g_real;
using coz::interpose::IoSide;
using coz::interpose::StartRequest;

extern "C" {

int aio_read(aiocb* request) noexcept {
  return StartRequest(request, IoSide::kInput, [=] { return g_real.aio_read(request); });
}
COZ_SECOND_NAME(aio_read64, aio_read);

int aio_write(aiocb* request) noexcept {
  return StartRequest(request, IoSide::kOutput, [=] { return g_real.aio_write(request); });
}
COZ_SECOND_NAME(aio_write64, aio_write);

int aio_suspend(const aiocb* const* list, int count, const timespec* duration) {
  const auto wait = [=] {
    return coz::interpose::WaitForInVirtualTime(
        duration, [=](const timespec* most) { return g_real.aio_suspend(list, count, most); },
        [](int result) { return result < 0 && errno == EAGAIN; });
  };
  return coz::interpose::WaitForIo(
      wait,
      [=](int result) {
        return result == 0 ? coz::interpose::WakerOfEnded(list, count) : uint64_t{0};
      },
      [=](int result, uint64_t) {
        return result == 0 ? coz::interpose::KindOfEnded(list, count) : coz::delay::WaitKind::kNone;
      });
}
COZ_SECOND_NAME(aio_suspend64, aio_suspend);

}  // extern "C"
