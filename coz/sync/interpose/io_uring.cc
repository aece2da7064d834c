// io_uring through liburing. Process: target. Context: the program's threads.
//
// A ring is like an epoll instance: what a request waits for is noted when it is submitted, and
// whoever wakes a thread through that object tells the ring, too. A request that writes is paid for
// when it is submitted.
#include <linux/io_uring.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "coz/sync/interpose/io_uring_calls_table.h"
#include "coz/sync/interpose/io_wait.h"
#include "coz/sync/interpose/library_calls.h"

namespace coz::interpose {

// struct io_uring of liburing 2.0 to 2.3, up to what is used here.
struct Ring {
  struct {
    unsigned* head;
    unsigned* tail;
    unsigned* mask;
    unsigned* entries;
    unsigned* flags;
    unsigned* dropped;
    unsigned* array;
    io_uring_sqe* requests;
    unsigned first;  // of those that are not submitted
    unsigned end;
    size_t bytes;
    void* memory;
    unsigned more[4];
  } queue;
  unsigned char completions[88];
  unsigned flags;
  int fd;
};
static_assert(offsetof(Ring, queue.first) == 64 && offsetof(Ring, fd) == 196);

#define COZ_X(version, result, name, parameters, arguments) \
  static LibraryCall g_##name{#name};                       \
  extern "C" result Coz##name parameters;                   \
  asm(".symver Coz" #name ", " #name "@" version);
COZ_IO_URING_CALLS(COZ_X)
#undef COZ_X

#define COZ_REAL(name) RealLibraryCall<decltype(Coz##name)>(g_##name, COZ_CALL_SITE())

namespace {

enum class Effect { kNone, kInput, kOutput };

Effect EffectOf(const io_uring_sqe& request) {
  if ((request.flags & IOSQE_FIXED_FILE) != 0) return Effect::kNone;  // `fd` is another number
  switch (request.opcode) {
    case IORING_OP_READV:
    case IORING_OP_READ_FIXED:
    case IORING_OP_POLL_ADD:
    case IORING_OP_RECVMSG:
    case IORING_OP_ACCEPT:
    case IORING_OP_READ:
    case IORING_OP_RECV:
      return Effect::kInput;
    case IORING_OP_WRITEV:
    case IORING_OP_WRITE_FIXED:
    case IORING_OP_SENDMSG:
    case IORING_OP_CONNECT:
    case IORING_OP_CLOSE:
    case IORING_OP_WRITE:
    case IORING_OP_SEND:
    case IORING_OP_SPLICE:
    case IORING_OP_TEE:
    case IORING_OP_SHUTDOWN:
      return Effect::kOutput;
    default:
      return Effect::kNone;
  }
}

// The ring and the global delay for which a descriptor was last noted. Its meaning may change
// (connect, close), so it is noted again, but only if delay was inserted meanwhile.
std::atomic<uint64_t> g_noted[2][io_internal::kDescriptors];

void NoteWatched(int fd, IoSide side, int ring_fd) {
  const uint64_t global_ns =
      sync_internal::g_ledger->global_delay_ns.load(std::memory_order_relaxed);
  const uint64_t mark = (global_ns << 16) ^ (static_cast<uint64_t>(ring_fd) + 1);
  std::atomic<uint64_t>& noted =
      g_noted[static_cast<int>(side)][static_cast<unsigned>(fd) % io_internal::kDescriptors];
  if (noted.load(std::memory_order_relaxed) == mark) return;
  noted.store(mark, std::memory_order_relaxed);
  NoteWatcher(fd, side, ring_fd);
}

void PayBeforeRequests(const Ring& ring) {
  if (CurrentThreadLedger() == nullptr) return;
  PayIfBehind();
  const unsigned shift = (ring.flags & IORING_SETUP_SQE128) != 0 ? 1 : 0;
  for (unsigned at = ring.queue.first; at != ring.queue.end; ++at) {
    const io_uring_sqe& request = ring.queue.requests[(at & *ring.queue.mask) << shift];
    const Effect effect = EffectOf(request);
    if (effect == Effect::kNone) continue;
    const IoSide side = effect == Effect::kInput ? IoSide::kInput : IoSide::kOutput;
    PayBeforeIo(request.fd, side);
    NoteWakesThrough(request.fd, side);
    NoteWatched(request.fd, side, ring.fd);
  }
}

// Makes `call` as a wait for any request of the ring.
template <typename Call>
int WaitForRing(int ring_fd, Call call) {
  return WaitForIo(
      call, [=](int result) { return result >= 0 ? WakerBy(EpollKey(ring_fd)) : 0; },
      [=](int result, uint64_t start_ns) {
        return result >= 0 && !IsWokenByTreeSince(EpollKey(ring_fd), start_ns)
                   ? delay::WaitKind::kPoll
                   : delay::WaitKind::kNone;
      });
}

int NoteRing(int result, const Ring* ring) {
  if (result >= 0) NoteAnonymous(ring->fd);
  return result;
}

}  // namespace

extern "C" {

int Cozio_uring_queue_init(unsigned entries, Ring* ring, unsigned flags) {
  return NoteRing(COZ_REAL(io_uring_queue_init)(entries, ring, flags), ring);
}

int Cozio_uring_queue_init_params(unsigned entries, Ring* ring, void* parameters) {
  return NoteRing(COZ_REAL(io_uring_queue_init_params)(entries, ring, parameters), ring);
}

int Cozio_uring_submit(Ring* ring) {
  PayBeforeRequests(*ring);
  return COZ_REAL(io_uring_submit)(ring);
}

int Cozio_uring_submit_and_get_events(Ring* ring) {
  PayBeforeRequests(*ring);
  return COZ_REAL(io_uring_submit_and_get_events)(ring);
}

int Cozio_uring_submit_and_wait(Ring* ring, unsigned count) {
  PayBeforeRequests(*ring);
  const auto real = COZ_REAL(io_uring_submit_and_wait);
  if (count == 0) return real(ring, count);
  return WaitForRing(ring->fd, [=] { return real(ring, count); });
}

int Cozio_uring_submit_and_wait_timeout(Ring* ring, void** completion, unsigned count,
                                        timespec* duration, sigset_t* mask) {
  PayBeforeRequests(*ring);
  const auto real = COZ_REAL(io_uring_submit_and_wait_timeout);
  return WaitForRing(ring->fd, [=] { return real(ring, completion, count, duration, mask); });
}

int Cozio_uring_wait_cqes(Ring* ring, void** completion, unsigned count, timespec* duration,
                          sigset_t* mask) {
  PayBeforeRequests(*ring);
  const auto real = COZ_REAL(io_uring_wait_cqes);
  return WaitForRing(ring->fd, [=] { return real(ring, completion, count, duration, mask); });
}

int Cozio_uring_wait_cqe_timeout(Ring* ring, void** completion, timespec* duration) {
  PayBeforeRequests(*ring);
  const auto real = COZ_REAL(io_uring_wait_cqe_timeout);
  return WaitForRing(ring->fd, [=] { return real(ring, completion, duration); });
}

int Coz__io_uring_get_cqe(Ring* ring, void** completion, unsigned submitted, unsigned count,
                          sigset_t* mask) {
  const auto real = COZ_REAL(__io_uring_get_cqe);
  if (count == 0) return real(ring, completion, submitted, count, mask);
  return WaitForRing(ring->fd, [=] { return real(ring, completion, submitted, count, mask); });
}

// Which requests a bare descriptor submits is not known here.
int Cozio_uring_enter(unsigned fd, unsigned submitted, unsigned count, unsigned flags,
                      sigset_t* mask) {
  PayIfBehind();
  const auto real = COZ_REAL(io_uring_enter);
  if (count == 0) return real(fd, submitted, count, flags, mask);
  return WaitForRing(static_cast<int>(fd), [=] { return real(fd, submitted, count, flags, mask); });
}

int Cozio_uring_enter2(unsigned fd, unsigned submitted, unsigned count, unsigned flags,
                       sigset_t* mask, size_t bytes) {
  PayIfBehind();
  const auto real = COZ_REAL(io_uring_enter2);
  if (count == 0) return real(fd, submitted, count, flags, mask, bytes);
  return WaitForRing(static_cast<int>(fd),
                     [=] { return real(fd, submitted, count, flags, mask, bytes); });
}

}  // extern "C"

}  // namespace coz::interpose
